"""Each storage in its own words, about each kind of file; what is no file of a checkpoint is nothing."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.message_facts import location_in, plain_addresses
from airflow_provider_ckpt.explain.storage_words import storage_problem

FILES = {
    "offsets": "offsets/7",
    "commits": "commits/403",
    "state": "state/0/7/1.delta",
    "sources": "sources/0/9.compact",
    "sink_log": "_spark_metadata/19.compact",
}
#: Where a checkpoint may be, and what the storage there says of a file that is missing.
MISSING = {
    "local": ("file:/data/ck", "java.io.FileNotFoundException: File {} does not exist"),
    "java": ("/data/ck", "java.io.FileNotFoundException: {} (No such file or directory)"),
    "nio": ("/data/ck", "java.nio.file.NoSuchFileException: {}"),
    "s3a": ("s3a://lake/ck", "java.io.FileNotFoundException: No such file or directory: {}"),
    "emrfs": ("s3://lake/ck", "java.io.FileNotFoundException: No such file or directory '{}'"),
    "hdfs": ("hdfs://nn:8020/ck", "java.io.FileNotFoundException: File does not exist: {} (inode 17) [Lease.]"),
    "abfs": (
        "https://acc.dfs.core.windows.net/lake/ck",
        'Operation failed: "The specified path does not exist.", 404, HEAD, {}?upn=false&timeout=90',
    ),
    "gcs": ("gs://lake/ck", "java.io.FileNotFoundException: Item not found: '{}'."),
    "dbfs": ("dbfs:/ck", "java.io.FileNotFoundException: {}: 404 Not Found"),
}
SAID = {
    "denied": [
        "java.nio.file.AccessDeniedException: {}: getFileStatus on {}: Forbidden; Status Code: 403; Error Code: 403 Forbidden",
        'org.apache.hadoop.security.AccessControlException: Permission denied: user=spark, access=WRITE, inode="{}":hdfs',
        "java.io.FileNotFoundException: {} (Permission denied)",
        "com.google.cloud.hadoop.fs.gcs.GoogleJsonResponseException: 403 Forbidden GET {} x has no access",
        'Operation failed: "This request is not authorized to perform this operation using this permission.", 403, PUT, {}?x',
    ],
    "unrenamed": [
        'Operation failed: "The source path for a rename operation does not exist.", 404, PUT, {}, SourcePathNotFound',
        "java.io.IOException: rename from {}.tmp to {} failed.",
        "java.io.IOException: Failed to rename {}.tmp to {}",
    ],
    "present": ["org.apache.hadoop.fs.FileAlreadyExistsException: {} already exists"],
    "damaged": ["org.apache.hadoop.fs.ChecksumException: Checksum error: {} at 0 exp: 1 got: 2"],
    "foreign": ["java.lang.IllegalArgumentException: Wrong FS: {}, expected: hdfs://nn:8020"],
    "full": ["java.io.IOException: No space left on device: {}", "DSQuotaExceededException: quota of {} is exceeded"],
    "unavailable": [
        "PUT 0-byte object on {}: SlowDown: Please reduce your request rate; Status Code: 503",
        "429 Too Many Requests PUT {}: exceeded the rate limit for object mutation operations",
    ],
    "elsewhere": [
        "org.apache.hadoop.fs.s3a.UnknownStoreException: `x': getFileStatus on {}: NoSuchBucket: The bucket does not exist",
        "AWSRedirectException: redirect to region eu-west-1 of {}: Status Code: 301; Error Code: PermanentRedirect",
    ],
    "archived": ["AccessDeniedException: {}: open at 0: (Status Code: 403; Error Code: InvalidObjectState)"],
    "readonly": [
        "java.io.FileNotFoundException: {} (Read-only file system)",
        "SafeModeException: Cannot create file {}. Name node is in safe mode.",
    ],
    "unreachable": [
        "java.io.FileNotFoundException: {} (Input/output error)",
        "java.io.IOException: Stale file handle: {}",
        "org.apache.hadoop.hdfs.BlockMissingException: Could not obtain block: blk_1 file={}",
        "File {} could only be written to 0 of the 1 minReplication nodes.",
    ],
    "changed": ["org.apache.hadoop.fs.s3a.RemoteFileChangedException: open {} at 0: Change detected by client"],
    "unlisted": ["ConsistencyException: File {} present in the metadata but not s3"],
    "conflict": [
        "LeaseExpiredException: No lease on {} (inode 9): File does not exist. Holder DFSClient_1 has no open files.",
        'Operation failed: "There is currently a lease on the resource.", 409, PUT, {}, LeaseIdMissing',
    ],
}

READER = "\tat org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog.get(H.scala:1)"


@pytest.mark.parametrize("place", FILES)
@pytest.mark.parametrize("storage", MISSING)
def test_a_file_that_is_missing(storage, place):
    root, words = MISSING[storage]
    text = words.format(f"{root}/{FILES[place]}")
    problem = storage_problem(text)
    assert problem is not None and (problem.what, problem.place) == ("missing", place)
    (alone,) = explain([text]).explanations
    assert alone.certainty == "possible"
    assert alone.commands and not [command for command in alone.commands if "salvage" in command]
    (item,) = explain([text, READER]).explanations
    assert item.certainty == "proven"
    assert any("salvage" in command for command in item.commands) <= (place != "sink_log")
    assert item.commands


@pytest.mark.parametrize(("what", "words"), [(what, text) for what, texts in SAID.items() for text in texts])
@pytest.mark.parametrize("file", FILES.values())
def test_what_else_a_storage_says(what, words, file):
    text = words.replace("{}", f"s3a://lake/ck/{file}")
    problem = storage_problem(text)
    assert problem is not None and problem.what == what
    found = explain([text]).explanations
    assert found and not [item for item in found if item.is_shown]
    found = explain([text, READER]).explanations
    assert found and {sign.kind for item in found for sign in item.signs} <= {"file", "frame"}
    assert all(item.is_shown for item in found)
    commands = [command for item in found for command in item.commands]
    if what in ("denied", "elsewhere", "archived", "readonly", "unavailable"):
        assert not commands, "nothing is wrong with the files"
    elif what in ("unreachable", "changed", "unlisted", "conflict"):
        assert {command.split()[1] for command in commands} == {"check"}


@pytest.mark.parametrize(
    "path",
    [
        "s3a://lake/in/2026/7.json",
        "s3a://lake/state/berlin/7.csv",
        "s3a://lake/offsets/daily.csv",
        "s3a://lake/sources/crm/customers.csv",
        "s3a://lake/metadata",
        "s3a://lake/offsets/7/part-0.parquet",
    ],
)
@pytest.mark.parametrize("words", [words for _, words in MISSING.values()])
def test_a_file_of_users_is_none_of_a_checkpoint(path, words):
    assert storage_problem(words.format(path)) is None
    assert [item for item in explain([words.format(path)]).explanations if item.is_shown] == []


FUNCTION = "\tat org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink.addBatch(ForeachBatchSink.scala:34)"
JAVA = "java.io.FileNotFoundException: /data/ck/offsets/7 (Permission denied)\n\tat java.io.FileInputStream.open0(N)\n"


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        (JAVA + READER, True),
        (f"{JAVA}\tat com.acme.Job.read(Job.java:3)\n{FUNCTION}\n{READER}", None),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/exports/offsets/17'", None),
        (
            "[FAILED_EXECUTE_UDF] f failed due to: java.io.FileNotFoundException: File s3a://l/offsets/17 does not exist",
            None,
        ),
        ("The specified key does not exist: s3://acme-bus/offsets/0", False),
        ("[PATH_NOT_FOUND] Path does not exist: file:/data/exports/offsets/3. SQLSTATE: 42K03", None),
        ("File not found: s3://bus/offsets/0 [how=x, checkpointLocation=/data/ck], Append", None),
        ("File not found: s3://bus/offsets/0 [how=x, checkpointLocation=s3://bus], Append", True),
        ("[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: /data/exports/offsets/17 (No such file or directory)", None),
    ],
)
def test_a_file_that_the_query_has_opened_itself(text, is_shown):
    """Java's own words are of Spark where its reader threw; a function of the query that failed is not the checkpoint."""
    found = [item.is_shown for item in explain(text.splitlines()).explanations if item.cause]
    assert found == ([] if is_shown is None else [is_shown])


@pytest.mark.parametrize(
    "file",
    [
        "offsets/.7.0a0b7c5e-6f6b-4f19-8f20-7d4f4f3f7a10.tmp",
        "state/0/7/.1.delta.0a0b7c5e-6f6b-4f19-8f20-7d4f4f3f7a10.TID9.tmp",
    ],
)
def test_a_name_that_spark_alone_gives_is_proof(file):
    text = f"java.io.IOException: rename from s3a://lake/ck/{file} to s3a://lake/ck/x failed."
    assert [item.certainty for item in explain([text]).explanations] == ["proven"]


def test_a_checksum_file_in_the_way_is_what_spark_says_it_is():
    """Spark takes it for a second query; the page has the checksum file as a cause."""
    told = "org.apache.spark.SparkException: Multiple streaming queries are concurrently using file:/data/ck/offsets."
    cause = "Caused by: org.apache.hadoop.fs.FileAlreadyExistsException: file:/data/ck/offsets/.4.crc already exists."
    file = "file:/data/ck/offsets/"
    warned = f"26/11/23 02:00:00 WARN C: Failed to rename temp file {file}.4.1.tmp to {file}4 because file exists"
    assert {item.page for item in explain([told, cause]).explanations} == {"concurrent-stream-log-update"}
    below = cause.removeprefix("Caused by: ")
    assert (
        explain([warned, below, f"26/11/23 02:00:00 ERROR M: {told}", cause]).explanations[0].page
        == "concurrent-stream-log-update"
    )
    assert any(item.match.page for item in explain([told, cause]).explanations)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        (
            "The specified path does not exist, 404, HEAD, https://acc.dfs.core.windows.net/lake/ck/offsets/7?x=1",
            "abfss://lake@acc.dfs.core.windows.net/ck",
        ),
        ("404 Not Found GET https://storage.googleapis.com/storage/v1/b/lake/o/ck%2Foffsets%2F7", "gs://lake/ck"),
        ("No such file or directory: s3a://lake/ck/state/0/7/1.delta", "s3a://lake/ck"),
    ],
)
def test_the_address_of_a_request_is_the_location_of_a_checkpoint(text, location):
    (item,) = explain([text]).explanations
    assert item.facts["location"] == location


@pytest.mark.parametrize(
    "text",
    [
        "java.nio.file.AccessDeniedException: lake: getFileStatus: Forbidden (Service: S3; Status Code: 403; Request ID: X)",
        'AccessControlException: Permission denied: user=spark, access=WRITE, inode="/warehouse/orders":hive:hive:drwxr-xr-x',
        "java.lang.OutOfMemoryError: Java heap space",
    ],
)
def test_a_storage_or_a_memory_that_names_no_file_says_nothing_of_the_checkpoint(text):
    (item,) = explain([text]).explanations
    assert item.doubt is not None and item.cause_text is None
    assert all(command.startswith(("ckpt check ", "ckpt show ")) for command in item.commands)


@pytest.mark.parametrize(
    "address",
    [
        "https://storage.googleapis.com/upload/storage/v1/b/lake/o?ifGenerationMatch=0&name=ck%2Foffsets%2F6&uploadType=x",
        "https://storage.googleapis.com/upload/storage/v1/b/lake/o?name=ck%2Foffsets%2F6",
        "https://storage.googleapis.com/download/storage/v1/b/lake/o/ck%2foffsets%2f6?alt=media",
        "https://www.googleapis.com/storage/v1/b/lake/o/ck%2Foffsets%2F6",
    ],
)
def test_an_object_of_gcs_is_named_in_its_address_or_as_a_parameter(address):
    text = f"GoogleJsonResponseException: 404 Not Found POST {address}"
    problem = storage_problem(text)
    assert problem is not None
    assert (problem.what, problem.place) == ("missing", "offsets")
    assert location_in(plain_addresses(text)) == "gs://lake/ck"


@pytest.mark.parametrize(
    "file",
    [
        "_schema_log/0", "_schema_log_5f1c-aa/2", "rocksdb/logs/000012.log",
        "rocksdb/SSTs/12-1c2e.sst", "rocksdb/7.zip",
    ],
)  # fmt: skip
@pytest.mark.parametrize("storage", MISSING)
def test_a_file_that_a_connector_keeps_is_no_entry_of_a_file_source(storage, file):
    root, words = MISSING[storage]
    text = words.format(f"{root}/sources/0/{file}")
    problem = storage_problem(text)
    assert problem is not None and (problem.what, problem.place) == ("missing", "source_files")
    (item,) = explain([text]).explanations
    assert (item.certainty, item.text) == ("possible", None)
    assert item.match.entry is not None and "connector" in item.cause.text
    assert [command.split()[1] for command in item.commands] == ["check", "show"]


def test_a_file_of_kinesis_that_a_storage_misses_is_named_as_one():
    """In Spark's own words it is proven: the page of the connector has them."""
    (item,) = explain(["No such file or directory: s3a://lake/ck/sources/0/shard-commit/4"]).explanations
    assert item.certainty == "possible" and item.doubt is not None and "the shards of Kinesis" in item.doubt


@pytest.mark.parametrize("path", ["sources/0/rocksdb/a/b", "sources/a/rocksdb/logs/1.log", "src/0/shard-commit/4"])
def test_what_no_connector_names_so_is_not_known(path):
    assert storage_problem(f"No such file or directory: s3a://lake/ck/{path}") is None
