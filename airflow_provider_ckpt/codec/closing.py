"""The offset entry with which this package closes a checkpoint while it changes more than one object of it.

It has the latest log version that Java can count, so every Spark refuses to start from it
(``MetadataVersionUtil.validateVersion``), and a query that runs finds the name of its next batch taken. Nothing else
changes: without the entry the checkpoint is what it was.
"""

from __future__ import annotations

#: The version in it, as Spark names it in its error.
CLOSING_VERSION = 2147483647
#: The whole content.
CLOSING = (
    b"v2147483647\n"
    b"A change by ckpt has not ended. See it with ckpt history LOCATION. The command that began it completes it, and "
    b"ckpt undo LOCATION takes it back.\n"
)
