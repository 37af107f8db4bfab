"""A module that is named by a noun does no IO, and one that does is named by a verb: computed from what each imports."""

from __future__ import annotations

from tests.purity import purity

#: Rooms whose modules are not named for what they do: faces, types, the storage, and the ground.
NOT_NAMED_FOR_IO = {
    "cli",
    "dags",
    "documents",
    "hooks",
    "lineage",
    "notifications",
    "operators",
    "plugin",
    "report",
    "sensors",
    "spark",
    "storage",
    "triggers",
}
#: Rooms with a module for each format or system, which has its name: ``sinks/delta.py``, ``engines/local.py``.
READERS = {"engines", "sinks", "tables"}
#: Where the data of a source ends: a module of this name in the folder of each type.
END = "end"
#: What a module that does IO may be named by: the first word of its name.
VERBS = """
apply ask compact compare connect declare deploy explain export find fit follow foresee forget gate inspect judge make observe open poll publish prune put
read recognise record rehearse repair repartition require reset resolve restore rewind resume roll run stage start stop take tell translate vacuum validate verify
withdraw write
"""
#: Nouns that do IO all the same: what others read and write by. It only gets shorter.
DOES_IO = {
    "backup.catalog": "the backups of a root",
    "backup.copier": "copies objects",
    "backup.patience": "waits for a checkpoint that is whole",
    "change.executor": "takes the steps of a plan",
    "change.guard": "watches for a query",
    "change.record.journal": "the records of changes",
    "change.lock": "one operator at a time",
    "change.places": "the stores of a change",
    "checkpoint.listing": "lists the directories of a checkpoint",
    "sources.offer": "what a checkpoint tells of its sources",
}
#: Verbs that do none: what they do is to decide, or to read a page of the package itself.
PURE_VERBS = {
    "checks.read_state_files": "reads by what it is given",
    "change.ask_word": "calls what a user has given",
    "explain.read_index": "reads pages of the package",
    "query.deploy": "the noun",
}


def named() -> dict[str, tuple[bool, bool]]:
    """Of each module of the subjects: whether its name begins with a verb, and whether it does IO."""
    found = {}
    for module, is_pure in purity().items():
        room, _, inside = module.partition(".")
        name = module.rpartition(".")[2]
        if inside and room not in NOT_NAMED_FOR_IO | READERS and name != END:
            found[module] = name.partition("_")[0] in VERBS.split(), not is_pure
    return found


def test_a_module_that_does_io_is_named_by_a_verb():
    assert {name for name, (is_verb, does_io) in named().items() if does_io and not is_verb} == set(DOES_IO)


def test_a_module_that_does_none_is_named_by_a_noun():
    assert {name for name, (is_verb, does_io) in named().items() if is_verb and not does_io} == set(PURE_VERBS)
