"""The triggers of a query, as ``DataStreamWriter.trigger`` of PySpark calls them."""

from __future__ import annotations

#: What a query can be started with, as ``DataStreamWriter.trigger`` of PySpark calls it.
TRIGGERS = ("processingTime", "availableNow", "once", "continuous", "realTime")
#: Triggers that end by themselves.
AVAILABLE_NOW, ONCE = "availableNow", "once"
#: A trigger whose batches read on while they run.
REAL_TIME = "realTime"
#: What the option of the command line says.
TRIGGER_HELP = "Trigger that the query runs with. ckpt assumes none when it is not given."
