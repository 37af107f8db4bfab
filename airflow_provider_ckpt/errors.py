"""Every error of this package: one root, split by whose fault it is and by what the caller must do next.

* :class:`CheckpointFormatError`: the bytes are not what Spark would accept.
* :class:`StoreError`: the storage said no, or did not answer.
* :class:`PlanError`: the change was refused and nothing was done.
* :class:`GateFailedError`: the deploy must not go ahead.
* :class:`BackupError`: a backup is missing or damaged.

``exit_code`` is what the ``ckpt`` command ends with; ``retryable`` tells Airflow whether another try can help.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_ckpt.visible import visible

if TYPE_CHECKING:
    from airflow_provider_ckpt.documents import ErrorFields


class CheckpointError(Exception):
    """The root of all errors that this package raises on purpose.

    Args:
        message: The problem, in one sentence.
        location: URI of the checkpoint, backup root or sink.
        name: The file inside the location, such as ``offsets/6``.
        batch_id: The batch concerned.
        hint: The next step for a person.
    """

    code: ClassVar[str] = "CHECKPOINT_ERROR"
    exit_code: ClassVar[int] = 3
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        location: str | None = None,
        name: str | None = None,
        batch_id: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.name = name
        self.batch_id = batch_id
        self.hint = hint

    def at(self, location: str) -> CheckpointError:
        """Set the location unless it is set already, and return the same error."""
        self.location = self.location or location
        return self

    def __str__(self) -> str:
        place = "/".join(part.rstrip("/") for part in (self.location, self.name) if part)
        text = f"{place}: {self.message}" if place else self.message
        end = "" if text.endswith((".", "!", "?")) else "."
        return visible(f"{text}{end} {self.hint}" if self.hint else text)

    def to_dict(self) -> ErrorFields:
        """The error as the CLI's ``--json`` prints it."""
        return {
            "code": self.code,
            "message": self.message,
            "location": self.location,
            "name": self.name,
            "batch_id": self.batch_id,
            "hint": self.hint,
        }


@contextmanager
def located(location: str | None) -> Iterator[None]:
    """Set the location of an error that does not name one: where several are worked on, it says of which it is."""
    try:
        yield
    except CheckpointError as error:
        if location is not None:
            error.at(location)
        raise


class CheckpointFormatError(CheckpointError):
    """Bytes that Spark would not accept in this place.

    ``spark_error`` is what Spark stops with when it reads them: its error condition, or the simple name of the Java
    exception where there is none. ``head`` has the first of the bytes, where they are known: another reader than the
    one that was expected may stop with another error.
    """

    code = "CHECKPOINT_FORMAT"
    spark_error: str = "IllegalStateException"

    def __init__(self, message: str, *, spark_error: str | None = None, **place: Any) -> None:
        super().__init__(message, **place)
        self.spark_error = spark_error or type(self).spark_error
        self.head = b""


class IncompleteLogFileError(CheckpointFormatError):
    """An empty log file: Spark stops at it with ``Incomplete log file``."""

    code = "INCOMPLETE_LOG_FILE"


class MalformedEntryError(CheckpointFormatError):
    """A log entry that cannot be read."""

    code = "MALFORMED_ENTRY"
    spark_error = "MappingException"


class EmptyLineError(MalformedEntryError):
    """A log entry that can be read when its empty lines are gone; the message says which lines these are."""

    code = "EMPTY_LINE"


class TooLargeError(MalformedEntryError):
    """A file that is larger than anything Spark writes there; it was not read."""

    code = "TOO_LARGE"


class UnreadableError(CheckpointFormatError):
    """One file that cannot be opened: this user may not read it, or it is no regular file. Nothing is known of it."""

    code = "UNREADABLE"


class UnsupportedVersionError(CheckpointFormatError):
    """A log version that is later than this package, or the target Spark, reads."""

    code = "UNSUPPORTED_VERSION"
    spark_error = "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION"


class CheckpointClosedError(UnsupportedVersionError):
    """The checkpoint is closed: a change by this package has not ended, and must be completed or taken back first."""

    code = "CHECKPOINT_CLOSED"
    exit_code = 4


class StoreError(CheckpointError):
    """The storage refused: permission, a name it cannot hold, an operation it does not have."""

    code = "STORE_ERROR"


class CheckpointNotFoundError(StoreError):
    """No such location, no such object, or a location that is no checkpoint."""

    code = "NOT_FOUND"


class ObjectNotFoundError(CheckpointNotFoundError):
    """No such object at a location; where it was listed before, it was removed since."""


class ObjectExistsError(StoreError):
    """An exclusive create found the name taken."""

    code = "OBJECT_EXISTS"
    exit_code = 4


class StorageOptionError(StoreError):
    """Options of a storage driver that it does not take, or lacks."""

    code = "STORAGE_OPTION"
    exit_code = 2


class StoreUnavailableError(StoreError):
    """The storage did not answer, or answered that it cannot at the moment."""

    code = "STORE_UNAVAILABLE"
    exit_code = 5
    retryable = True


class PlanError(CheckpointError):
    """A change that was refused; nothing was done."""

    code = "PLAN_REFUSED"
    exit_code = 4


class BatchNotRestorableError(PlanError):
    """The target batch lacks an entry or a state file that a restart there needs."""

    code = "BATCH_NOT_RESTORABLE"


class StalePlanError(PlanError):
    """The checkpoint is not what it was when the plan was made."""

    code = "STALE_PLAN"


class CheckpointBusyError(PlanError):
    """A query is, or may be, writing to the checkpoint."""

    code = "CHECKPOINT_BUSY"


class CheckpointLockedError(CheckpointBusyError):
    """Another change of the checkpoint is being carried out; once it has ended, the same one may go on."""

    retryable = True


class CheckpointMovedError(CheckpointBusyError):
    """At every try files were removed that had just been listed: the query is running."""

    code = "CHECKPOINT_MOVED"
    retryable = True


class SparkFailedError(CheckpointError):
    """A Spark that a change was handed to has ended before its end; the same change, begun again, goes on."""

    code = "SPARK_FAILED"
    exit_code = 5
    retryable = True


class NotBetweenBatchesError(PlanError):
    """A query has ended with a batch in flight, or would: it is not stopped between two batches."""

    code = "NOT_BETWEEN_BATCHES"


class EngineError(CheckpointError):
    """The engine that runs a query refuses, or is not declared as it has to be; nothing is known of the query."""

    code = "ENGINE_ERROR"
    exit_code = 5


class EngineUnknownError(EngineError):
    """The engine does not say whether a query runs: it is taken neither for live nor for stopped."""

    code = "ENGINE_UNKNOWN"
    retryable = True


class WaitLostError(CheckpointError):
    """The awaited progress cannot come any more: the checkpoint was replaced, or rolled back below the start."""

    code = "WAIT_LOST"
    exit_code = 4


class GateFailedError(CheckpointError):
    """The gate is closed: ``findings`` say why."""

    code = "GATE_FAILED"
    exit_code = 1

    def __init__(self, message: str, *, findings: tuple[Any, ...] = (), **place: Any) -> None:
        super().__init__(message, **place)
        self.findings = findings


class ThresholdError(CheckpointError):
    """A query is past a threshold of the query file, or nobody knows whether it is."""

    code = "THRESHOLD"
    exit_code = 1
    retryable = True


class BackupError(CheckpointError):
    """Something is wrong with a backup."""

    code = "BACKUP_ERROR"


class BackupNotFoundError(BackupError):
    """No backup of that id under the root."""

    code = "BACKUP_NOT_FOUND"


class BackupCorruptError(BackupError):
    """A backup that is not what its manifest says."""

    code = "BACKUP_CORRUPT"

    @classmethod
    def of(cls, location: str, name: str, problem: str) -> BackupCorruptError:
        """The error for one object of a backup."""
        hint = "Do not restore it. Use another backup (ckpt backups ROOT lists them), or take a new one."
        return cls(f"{problem}.", location=location, name=name, hint=hint)
