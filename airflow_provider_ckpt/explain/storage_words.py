"""Words of a storage about a file of a checkpoint: that it is missing, refused, not renamed, damaged or there already.

S3A, EMRFS, HDFS, ABFS, GCS and a local disk say it in words of their own; the path of the file tells what it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_provider_ckpt.explain.message_facts import path_around, plain_addresses

#: What is in front of the status of a request.
_CODE = r"(?:[Cc]ode[ :=]{1,3}|, |: ?)"
#: What is wrong, the most telling first. Each is searched in the class and the message of an exception.
_PROBLEMS = {
    "foreign": re.compile(r"Wrong FS"),
    "elsewhere": re.compile(
        r"NoSuchBucket|UnknownStoreException|[Bb]ucket does not exist|FilesystemNotFound|ContainerNotFound"
        r"|PermanentRedirect|AWSRedirectException"
    ),
    "archived": re.compile(
        r"InvalidObjectState|BlobArchived|BlobBeingRehydrated|not valid for the object's storage class"
    ),
    "unlisted": re.compile(r"ConsistencyException|(?:deleted|present) in the metadata"),
    "readonly": re.compile(r"Read-only file system|SafeMode|in safe mode"),
    "unreachable": re.compile(
        r"Input/\S{1,10} error|[Ss]tale file handle|Transport endpoint is not connected|BlockMissing"
        r"|[Cc]ould not obtain block|[Cc]annot ?[Oo]btain ?[Bb]lock ?[Ll]ength|could only be written to \d"
    ),
    "changed": re.compile(r"RemoteFileChanged|Change detected"),
    "damaged": re.compile(r"ChecksumException|Checksum error"),
    "present": re.compile(r"AlreadyExists|already exists|because file exists"),
    "conflict": re.compile(
        rf"[Pp]recondition ?[Ff]ailed|ConditionNotMet|ConditionalRequestConflict|{_CODE}412\b|LeaseExpired|No lease on"
        r"|AlreadyBeingCreated|lease on the resource|LeaseId\w{1,40}"
    ),
    "unrenamed": re.compile(
        r"\b[Rr]ename .{0,2000}\b(?:failed|returned false)|[Ff]ailed to rename|Cannot rename|Unable to rename"
        r"|SourcePathNotFound|source path for a rename"
    ),
    "denied": re.compile(
        r"[Pp]ermission denied|Access ?Denied|AccessControlException|Forbidden|AuthorizationPermissionMismatch"
        rf"|{_CODE}403\b|does not have storage\.|[Nn]ot authorized|InvalidAccessKey|ExpiredToken|AuthenticationFailed"
        r"|Operation not permitted"
    ),
    "full": re.compile(r"No space left|[Qq]uota.{0,40}exceeded|QuotaExceeded|Disk quota|MaxDirectoryItems"),
    "missing": re.compile(
        r"does not exist|doesn't exist|No such (?:file|key|object)|NoSuchKey|NoSuchFile|[Nn]ot [Ff]ound|FileNotFound"
        rf"|(?:Path|Blob|Key)NotFound|{_CODE}404\b"
    ),
    "unavailable": re.compile(
        rf"{_CODE}(?:50[03]|429)\b|rateLimitExceeded|Too Many Requests|Slow ?Down|ServerBusy"
        r"|[Tt]imed out|Timeout|Connection reset|Unable to execute HTTP request"
    ),
}
#: A path, whose numbers are none of a request.
_PATH = re.compile(r"/[^\s,;'\"\]\[<>()?]{1,2000}")
#: Names that the file managers of Spark give their files until they are whole; users give theirs none of these.
_OF_SPARK = re.compile(r"/\.[^/]{1,200}\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.TID\d{1,9})?\.tmp")
_TEMPORARY = r"(?:\.[\w-]{1,80}(?:\.TID\d{1,9})?\.tmp|\.crc)?(?![\w/-])"
#: Files that Spark writes into a checkpoint, or into the log of a file sink; what users name their own files is none.
_FILE = re.compile(
    rf"/(?:(?P<offsets>offsets)/\.?\+?\d{{1,18}}{_TEMPORARY}|(?P<commits>commits)/\.?\+?\d{{1,18}}{_TEMPORARY}"
    rf"|(?P<sources>sources)/\d{{1,6}}/(?:offsets/)?\.?\d{{1,18}}(?:\.compact)?{_TEMPORARY}"
    rf"|(?P<source_files>sources)/\d{{1,6}}/(?:(?:shard-\w{{1,20}}|_schema_log[\w-]{{0,100}})/\.?\d{{1,18}}{_TEMPORARY}"
    r"|rocksdb/(?:logs|SSTs)/[\w.-]{1,200}|rocksdb/\d{1,18}\.zip)"
    rf"|(?P<sink_log>_spark_metadata)/\.?\d{{1,18}}(?:\.compact)?{_TEMPORARY}"
    r"|(?P<state>state)/\d{1,6}/(?:_metadata/|_stateSchema/|\d{1,6}/(?:[\w-]{1,100}/)?(?:"
    r"\.?\d{1,18}(?:_[\w-]{1,80})?\.(?:delta|snapshot|changelog|zip)|_metadata/|(?:SSTs|logs)/|temp-)))"
)


@dataclass(frozen=True, slots=True)
class StorageProblem:
    """Problem of a file.

    Args:
        what: One of the problems above.
        place: Kind of the file: ``offsets``, ``commits``, ``sources``, ``source_files`` (of a connector), ``state`` or
            ``sink_log``.
        path: Path of the file.
        is_of_spark: True if a name is one that Spark gives a file until it is whole. Another file may be of the data of
            a query: users have ``exports/offsets/7`` as well, and a storage has the same words for it.
    """

    what: str
    place: str
    path: str
    is_of_spark: bool = False


def storage_problem(text: str) -> StorageProblem | None:
    """Problem of the first such file in an exception, its class and its message; None without a file or words."""
    if "/" not in text or "[Errno " in text:  # of a file that Python has opened
        return None
    text = plain_addresses(text)
    for found in _FILE.finditer(text):
        path = path_around(text, found.start())
        if path is None or found.lastgroup is None:
            continue
        said = _PATH.sub("/…", text)
        what = next((name for name, words in _PROBLEMS.items() if words.search(said)), None)
        is_of_spark = _OF_SPARK.search(text) is not None
        return None if what is None else StorageProblem(what, found.lastgroup, path, is_of_spark)
    return None
