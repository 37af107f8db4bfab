"""``kafka-consumer-groups --reset-offsets`` on a group, and ``ckpt reset-offsets`` on a checkpoint at its positions.

Equal words lead to equal offsets; then real Spark starts there, and its first batch reads what the broker holds from
there on. Where we do something else on purpose, a table says what the one does and what the other.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_provider_ckpt.checkpoint.observe import observe
from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.codec.offsets.kafka import offsets_of
from airflow_provider_ckpt.sources.kafka.ask import KafkaBroker, read_extent
from airflow_provider_ckpt.sources.kafka.extent import Partition
from airflow_provider_ckpt.sources.kafka.kafka_csv import read_csv
from airflow_provider_ckpt.storage.store import Store
from tests.changes.reset.kafka_cases import rows_from
from tests.kafka_checkpoint import commit_batch
from tests.kafka_lab import JVM, Broker, fetch_jars, run_query, session_of

pytestmark = [pytest.mark.kafka, pytest.mark.exhaustive]
GROUP, SECOND = "moved", "another"
#: 2023-11-14T22:13:20Z, and a minute later.
FIRST_MS, MINUTE_MS = 1_700_000_000_000, 60_000
ACCEPTED = ["--sink", "kafka", "--accept-sink", "duplicated", "--accept-sink", "skipped"]
DO_IT = [*ACCEPTED, "--execute", "--i-know-it-is-stopped", "--quiet-period", "0"]
Offsets = dict[Partition, int]


@dataclass(frozen=True)
class Lab:
    """Topic A: partition 0 holds 5 to 19, 1 holds 0 to 9, 2 nothing. Topic B: 0 holds 0 to 3, and 4 to 6 of later.

    The query and the group are at the same positions in all of them.
    """

    broker: Broker
    a: str
    b: str

    @property
    def current(self) -> Offsets:
        """Where both are."""
        return {(self.a, 0): 12, (self.a, 1): 10, (self.a, 2): 0, (self.b, 0): 3}

    def named(self, words: Sequence[str]) -> list[str]:
        """Words with the topics in the place of A and B."""
        return [word.replace("{A}", self.a).replace("{B}", self.b) for word in words]

    def checkpoint(self, place: Path) -> Path:
        """Of a query that is there."""
        offsets: dict[str, dict[int, int]] = {}
        for (topic, number), offset in self.current.items():
            offsets.setdefault(topic, {})[number] = offset
        commit_batch(place, 0, offsets)
        return place

    def by_kafka(self, *words: str, group: str = GROUP) -> tuple[int, str]:
        """Exit code and all that Kafka's own tool says, asked what it would do."""
        done = self.exported(*words, group=group)
        return done.returncode, done.stdout + done.stderr

    def exported(self, *words: str, group: str = GROUP) -> subprocess.CompletedProcess[str]:
        """A call of that tool, whose standard output is a file of offsets, as it is."""
        tool = ["java", *JVM, "-cp", f"{fetch_jars()}/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"]
        asked = ["--bootstrap-server", self.broker.bootstrap, "--group", group, "--reset-offsets", "--dry-run"]
        return subprocess.run([*tool, *asked, "--export", *words], capture_output=True, text=True, timeout=300)

    def by_us(self, checkpoint: Path, *words: str) -> int:
        """Exit code of the command."""
        return run(["reset-offsets", str(checkpoint), "--source", f"0=kafka:{self.broker.bootstrap}", *words])


@pytest.fixture(scope="module")
def lab(kafka) -> Lab:
    lab = Lab(kafka, kafka.create(3), kafka.create(1))
    kafka.produce(lab.a, 14, 0, FIRST_MS)
    kafka.produce(lab.a, 6, 0, FIRST_MS + MINUTE_MS)
    kafka.produce(lab.a, 10, 1, FIRST_MS)
    kafka.produce(lab.b, 4, 0, FIRST_MS)
    kafka.produce(lab.b, 3, 0, FIRST_MS + MINUTE_MS)
    kafka.delete_before(lab.a, 5)
    for group in (GROUP, SECOND):
        kafka.commit(group, lab.current)
    return lab


def offsets_in(said: str) -> Offsets:
    """The lines of CSV in what a tool has said, beside what it warns of."""
    return read_csv("\n".join(line for line in said.splitlines() if line.count(",") == 2 and " " not in line))


def positions(checkpoint: Path) -> Offsets:
    return offsets_of(observe(Store.open(str(checkpoint))).offset_seq(0).offset("0"))


# --- the same words -------------------------------------------------------------------------------------------------

#: Words of both, and of which partitions; without a scope all that have a position.
ALL, ONE, SOME = ["--all-topics"], ["--topic", "{A}"], ["--topic", "{A}:0,2"]
SAME: dict[str, tuple[list[str], list[str]]] = {
    "to-earliest": (["--to-earliest"], ONE),
    "to-earliest of all topics": (["--to-earliest"], ALL),
    "to-earliest of some partitions": (["--to-earliest"], SOME),
    "to-earliest of two topics": (["--to-earliest"], ["--topic", "{A}:1", "--topic", "{B}"]),
    "to-latest": (["--to-latest"], ONE),
    "to-latest of all topics": (["--to-latest"], ALL),
    "to-latest of one partition": (["--to-latest"], ["--topic", "{A}:0"]),
    "to-current": (["--to-current"], ONE),
    "to-current of all topics": (["--to-current"], ALL),
    "to-offset in the middle": (["--to-offset", "7"], ONE),
    "to-offset before the beginning": (["--to-offset", "3"], ALL),
    "to-offset past the end": (["--to-offset", "99"], SOME),
    "to-offset 0": (["--to-offset", "0"], ALL),
    "shift-by back": (["--shift-by", "-3"], ONE),
    "shift-by on": (["--shift-by", "3"], ALL),
    "shift-by nothing": (["--shift-by", "0"], ALL),
    "shift-by past the beginning": (["--shift-by", "-100"], ALL),
    "shift-by past the end": (["--shift-by", "100"], ["--topic", "{A}", "--topic", "{B}"]),
    "to-datetime between": (["--to-datetime", "2023-11-14T22:13:20.001Z"], ALL),
    "to-datetime of a record": (["--to-datetime", "2023-11-14T22:14:20.000Z"], ONE),
    "to-datetime in another zone": (["--to-datetime", "2023-11-14T23:13:20.001+01:00"], ALL),
    "to-datetime without a zone": (["--to-datetime", "2023-11-14T22:13:20.001"], SOME),
    "to-datetime before all": (["--to-datetime", "1971-01-01T00:00:00.000Z"], ALL),
    "to-datetime after all": (["--to-datetime", "2026-01-01T00:00:00.000Z"], ALL),
    "to-datetime in the future": (["--to-datetime", "2999-01-01T00:00:00.000Z"], ONE),
    "by-duration": (["--by-duration", "PT1H"], ALL),
    "by-duration of nothing": (["--by-duration", "PT0S"], ONE),
    "by-duration of all": (["--by-duration", "P10000D"], ALL),
    "by-duration in days and hours": (["--by-duration", "P1DT12H30M"], ["--topic", "{A}:1"]),
}


def ours(words: Sequence[str]) -> list[str]:
    """What we call by another name: one offset of many partitions, and all topics, which is the default."""
    return [word.replace("--to-offset", "--to-offsets") for word in words if word != "--all-topics"]


@pytest.mark.spark
@pytest.mark.parametrize(("strategy", "scope"), SAME.values(), ids=SAME)
def test_equal_offsets_and_the_query_reads_from_there(lab, spark, tmp_path, capsys, strategy, scope):
    words = lab.named([*strategy, *scope])
    code, said = lab.by_kafka(*words)
    assert code == 0, said
    by_kafka, checkpoint = offsets_in(said), lab.checkpoint(tmp_path / "checkpoint")
    capsys.readouterr()
    assert lab.by_us(checkpoint, *ours(words), "--export") == 0
    exported = read_csv(capsys.readouterr().out)
    assert {at: exported[at] for at in by_kafka} == by_kafka
    assert {at: exported[at] for at in exported.keys() - by_kafka} == {
        at: lab.current[at] for at in exported.keys() - by_kafka
    }, "what is not in the scope has moved"
    assert lab.by_us(checkpoint, *ours(words), *DO_IT) == 0
    assert positions(checkpoint) == exported
    extent = read_extent(KafkaBroker(lab.broker.bootstrap, {}), [lab.a, lab.b])
    read = run_query(session_of(spark), lab.broker, f"{lab.a},{lab.b}", checkpoint)
    assert read == rows_from([exported], extent)


# --- files ----------------------------------------------------------------------------------------------------------

FILES = {
    "as both write it": "{A},0,7\n{A},1,3\n{B},0,2\n",
    "with quotes": '"{A}","0","7"\n"{A}","1","3"\n',
    "of some partitions": "{A},2,0\n",
    "before the beginning and past the end": "{A},0,1\n{A},1,99\n{A},2,1\n",
    "with a group": f"{GROUP},{{A}},0,7\n{GROUP},{{A}},1,3\n",
    "in any order": "{B},0,1\n{A},1,3\n{A},0,9\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_file_gives_equal_offsets(lab, tmp_path, capsys, text):
    file, checkpoint = tmp_path / "offsets.csv", lab.checkpoint(tmp_path / "checkpoint")
    file.write_text(lab.named([text])[0])
    code, said = lab.by_kafka("--from-file", str(file))
    by_kafka = offsets_in(said)
    capsys.readouterr()
    assert (code, lab.by_us(checkpoint, "--from-file", str(file), "--export")) == (0, 0)
    assert read_csv(capsys.readouterr().out) == {**lab.current, **by_kafka}


def test_what_kafka_exports_moves_the_query_and_the_other_way_round(lab, tmp_path, capsys):
    file, checkpoint = tmp_path / "offsets.csv", lab.checkpoint(tmp_path / "checkpoint")
    file.write_text(lab.exported("--shift-by", "-2", "--all-topics").stdout)  # with its empty line at the end
    assert lab.by_us(checkpoint, "--from-file", str(file), *DO_IT) == 0
    assert positions(checkpoint) == read_csv(file.read_text())
    capsys.readouterr()
    assert lab.by_us(checkpoint, "--to-offsets", "6", "--export") == 0
    file.write_text(exported := capsys.readouterr().out)
    code, said = lab.by_kafka("--from-file", str(file))
    assert (code, offsets_in(said)) == (0, read_csv(exported))


def test_what_kafka_exports_of_two_groups_is_no_position_of_one_query(lab, tmp_path, capsys):
    file, checkpoint = tmp_path / "offsets.csv", lab.checkpoint(tmp_path / "checkpoint")
    file.write_text(lab.exported("--group", SECOND, "--to-current", "--all-topics").stdout)
    assert file.read_text().count(f"{SECOND},") == len(lab.current)
    assert lab.by_us(checkpoint, "--from-file", str(file)) == 2
    assert f"the file has positions of {SECOND} and {GROUP}, so give one" in " ".join(capsys.readouterr().err.split())
    kept = [line for line in file.read_text().splitlines() if line.startswith(GROUP)]
    file.write_text("\n".join(kept))
    assert lab.by_us(checkpoint, "--from-file", str(file), "--export") == 0
    assert read_csv(capsys.readouterr().out) == lab.current


# --- what we do otherwise, and why ----------------------------------------------------------------------------------

#: Words, what Kafka's tool ends with and says, and what we end with and say. Its silences are errors here.
OTHERWISE: dict[str, tuple[list[str], tuple[int, str], tuple[int, str]]] = {
    "a topic that there is not": (
        ["--to-earliest", "--topic", "nowhere"],
        (0, "This server does not host this topic-partition"),
        (4, "the query does not read the topic nowhere"),
    ),
    "a partition that there is not": (
        ["--to-earliest", "--topic", "{A}:9"],
        (0, 'The partitions "{A}-9" do not exist'),
        (4, "the partition {A}-9 does not exist"),
    ),
    "two strategies": (
        ["--to-earliest", "--to-latest", "--topic", "{A}"],
        (1, "can't be used with option"),
        (2, "given: --to-earliest and --to-latest"),
    ),
    "a duration to before 1970": (
        ["--by-duration", "P30000D", "--topic", "{A}"],
        (0, "UnsupportedVersionException"),
        (0, "{A},0,5"),
    ),
    "a duration that is negative, which is the future": (
        ["--by-duration", "-PT1H", "--topic", "{A}"],
        (0, "{A},0,20"),
        (2, "is not a duration"),
    ),
    "a time without milliseconds": (
        ["--to-datetime", "2023-11-14T22:13:21Z", "--topic", "{A}"],
        (0, "Unparseable date"),
        (0, "{A},0,14"),
    ),
    "an offset that is negative": (
        ["--to-offset", "-1", "--topic", "{A}"],
        (0, "{A},0,5"),
        (2, "not a whole number from 0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "kafkas", "ours_"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_we_do_otherwise(lab, tmp_path, capsys, words, kafkas, ours_):
    code, said = lab.by_kafka(*lab.named(words))
    assert (code, lab.named([kafkas[1]])[0] in said) == (kafkas[0], True), said
    capsys.readouterr()
    code = lab.by_us(lab.checkpoint(tmp_path / "checkpoint"), *ours(lab.named(words)), "--export")
    said = " ".join("".join(capsys.readouterr()).split())
    assert (code, lab.named([ours_[1]])[0] in said) == (ours_[0], True), said


BAD_FILES = {
    "no list of offsets": ("nothing of this", "not topic,partition,offset"),
    "a header": ("topic,partition,offset\n{A},0,7\n", "the file has no header line"),
    "an offset that is none": ("{A},0,seven\n", "is not an offset"),
}


@pytest.mark.parametrize(("text", "problem"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_list_of_offsets_is_an_error(lab, tmp_path, capsys, text, problem):
    file = tmp_path / "offsets.csv"
    file.write_text(lab.named([text])[0])
    code, said = lab.by_kafka("--from-file", str(file))
    assert (code, lab.a in said.replace(str(file), "")) == (0, False), f"Kafka's tool does nothing, and says it: {said}"
    capsys.readouterr()
    assert lab.by_us(lab.checkpoint(tmp_path / "checkpoint"), "--from-file", str(file), "--export") == 2
    assert problem in " ".join(capsys.readouterr().err.split())


@pytest.fixture(scope="module")
def grown(lab) -> tuple[Lab, str]:
    """The topic B has a partition more, of which neither has a position; it is at 4 to 9."""
    topic = lab.broker.create(1)
    lab.broker.produce(topic, 5, 0, FIRST_MS)
    lab.broker.commit(f"of-{topic}", {(topic, 0): 3})
    lab.broker.grow(topic, 2)
    lab.broker.produce(topic, 10, 1, FIRST_MS)
    lab.broker.delete_before(topic, 4, 1)
    return lab, topic


#: Words, where Kafka's tool leads the new partition (None: it refuses), and where we do when it is named (None likewise).
#: Where it is not named we leave it to Spark, which begins with its earliest offset.
NEW_PARTITION: dict[str, tuple[list[str], int | None, int | None]] = {
    "to-earliest": (["--to-earliest"], 4, 4),
    "to-latest": (["--to-latest"], 10, 10),
    "to-offset": (["--to-offset", "6"], 6, 6),
    "to-datetime": (["--to-datetime", "2026-01-01T00:00:00.000Z"], 10, 10),
    "to-current": (["--to-current"], 10, None),
    "shift-by": (["--shift-by", "-1"], None, None),
}


@pytest.mark.parametrize(("words", "kafkas", "ours_"), NEW_PARTITION.values(), ids=NEW_PARTITION)
def test_a_partition_without_a_position(grown, tmp_path, capsys, words, kafkas, ours_):
    lab, topic = grown
    checkpoint = tmp_path / "checkpoint"
    commit_batch(checkpoint, 0, {topic: {0: 3}})
    code, said = lab.by_kafka(*words, "--topic", topic, group=f"of-{topic}")
    if kafkas is None:
        assert (code, "since there is no current committed offset" in said) == (1, True), said
    else:
        assert offsets_in(said)[topic, 1] == kafkas
    capsys.readouterr()
    assert lab.by_us(checkpoint, *ours(words), "--topic", topic, "--export") == 0
    assert read_csv(capsys.readouterr().out).keys() == {(topic, 0)}
    code = lab.by_us(checkpoint, *ours(words), "--topic", f"{topic}:1", "--export")
    said = capsys.readouterr()
    if ours_ is None:
        assert code == 4 and f"partition {topic}-1 has no committed position" in " ".join(said.err.split())
    else:
        assert (code, read_csv(said.out)) == (0, {(topic, 0): 3, (topic, 1): ours_})
