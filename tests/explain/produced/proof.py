"""One symptom from its beginning to its end: real Spark stops, the log is explained, the command runs, Spark goes on."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ckpt.cli import run
from airflow_provider_ckpt.explain.read_index import read_pages
from airflow_provider_ckpt.explain.stack_traces import read_failures
from airflow_provider_ckpt.storage.store import Store
from tests.explain.produced.lab import REPOSITORY, Query, Ran, Spark
from tests.fake_query import read_all

#: The pages by their numbers.
PAGES = {page.number: page.name for page in read_pages()}
#: What real Spark printed, by version and name of the symptom, in the directory ``/data`` of no machine.
RECORDED = REPOSITORY / "tests" / "data" / "symptoms"
#: A change that is carried out at once.
CARRIED_OUT = ("--execute", "--i-know-it-is-stopped", "--quiet-period", "0")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was shown of a symptom; a line of the table that `make symptoms` prints.

    Args:
        symptom: Its number.
        case: Which of its causes.
        spark: The version in which it was produced.
        explained: How it was recognised: by the text, and by which rules on the checkpoint.
        repaired: What let the query go on.
        rows: What became of the rows after the start.
        conditions: The error conditions that Spark stopped with.
    """

    symptom: int
    case: str
    spark: str
    explained: str
    repaired: str
    rows: str
    conditions: frozenset[str]


@dataclass(slots=True)
class Proof:
    """The steps of a test; each asserts what it says.

    Args:
        symptom: Number of the page.
        case: Name of the cause, in words with hyphens; the name of the recorded log.
        home: Directory of the test.
        capsys: What the commands print.
        outcomes: Where the result is kept for the table.
    """

    symptom: int
    case: str
    home: Path
    capsys: pytest.CaptureFixture[str]
    outcomes: list[Outcome]
    _told: dict[str, str] = field(default_factory=dict)
    _conditions: set[str] = field(default_factory=set)

    def stops(self, spark: Spark, query: Query, error: str, symptom: int = 0) -> Ran:
        """Start the query, which stops with this exception; keep the log, and let `ckpt explain` name the symptom.

        Args:
            spark: In which it starts.
            query: As it is deployed.
            error: The simple name of the innermost exception.
            symptom: The one whose text it is, where another one has caused it.
        """
        ran = spark.run(query)
        assert ran.error == error, ran.log[-3000:]
        self.explains(spark, ran, symptom)
        return ran

    def explains(self, spark: Spark, said: Ran | str, symptom: int = 0) -> None:
        """`ckpt explain --log` names the symptom, and no other one before it.

        Args:
            spark: In which it was produced.
            said: The run that stopped, or what a user asks where nothing stops.
            symptom: The one whose text it is, where another one has caused it.
        """
        log = said if isinstance(said, str) else said.log
        if not isinstance(said, str):
            thrown = (thrown for failure in read_failures(log.splitlines()) for thrown in failure.chain)
            self._conditions |= {*said.conditions, *(name for each in thrown for name in each.conditions)}
        self._told = {"explained": "by its text", **self._told, "spark": spark.name}
        if os.environ.get("CKPT_RECORD"):
            record(log, spark.name, f"{self.symptom:02}-{self.case}", self.home)
        path = self.home / "driver.log"
        path.write_text(log)
        told = self.ckpt("explain", "--log", str(path), "--json")[1]
        pages = [item["page"] for item in told["explanations"]]
        assert pages[:1] == [PAGES[symptom or self.symptom]], told

    def confirms(self, location: Path, *codes: str, **declared: str) -> str:
        """The rules of the page find its cause in the checkpoint; the first command of the first of them.

        Args:
            location: The checkpoint.
            codes: What the gate has to find, the first one first.
            declared: Options of ``ckpt gate``.
        """
        words = [word for key, value in declared.items() for word in (f"--{key.replace('_', '-')}", value)]
        _, forecast = self.ckpt("gate", str(location), *words, "--json")
        found = {item["code"]: item for item in reversed(forecast["findings"])}
        assert set(codes) <= set(found), forecast["findings"]
        self._told["explained"] = f"by its text, {', '.join(codes)}"
        if (path := self.home / "driver.log").exists():
            told = self.ckpt("explain", "--log", str(path), str(location), "--json")[1]["explanations"]
            results = {item["evidence"]["result"] for item in told if item["page"] and item["evidence"]}
            assert results & {"confirmed", "unknown"}, told
            if "confirmed" in results:
                assert set(codes) & {found["code"] for item in told for found in item["evidence"]["findings"]}, told
                self._told["explained"] += ", which `ckpt explain` confirms"
        commands = found[codes[0]]["commands"]
        return str(commands[0]) if commands else ""

    def shows(self, location: Path, cause: str) -> None:
        """`ckpt explain` with the location is left with one cause, whose text has these words."""
        told = self.ckpt("explain", "--log", str(self.home / "driver.log"), str(location), "--json")[1]
        (item,) = (item for item in told["explanations"] if item["page"] == PAGES[self.symptom])
        assert cause in item["cause"], told
        assert item["evidence"]["result"] in ("confirmed", "unknown"), told

    def salvaging(self, location: Path) -> str:
        """The command of `ckpt explain` that finds the batch by itself, without the sink that it leaves open."""
        told = self.ckpt("explain", "--log", str(self.home / "driver.log"), str(location), "--json")[1]["explanations"]
        found = [str(command) for command in told[0]["commands"] if str(command).startswith("ckpt salvage ")]
        assert [command.removesuffix(" --sink TYPE[:URI]") for command in found] == [f"ckpt salvage {location}"], told
        return f"ckpt salvage {location}"

    def prints(self, location: Path, cause: str) -> str:
        """The last command that `ckpt explain` prints for the cause that is left, whose text has these words."""
        told = self.ckpt("explain", "--log", str(self.home / "driver.log"), str(location), "--json")[1]
        found = [
            item for item in told["explanations"] if item["page"] == PAGES[self.symptom] and cause in item["cause"]
        ]
        assert found, told
        return str(found[0]["commands"][-1])

    def carries_out(self, command: str, accept: tuple[str, ...] = (), **filled: str) -> str:
        """Run a command as it is printed, with its placeholders filled in: first its plan, which changes nothing.

        Returns:
            The effect on the sink that the plan announces.
        """
        for placeholder, value in {"TYPE[:URI]": filled.pop("sink", "noop"), **filled}.items():
            command = command.replace(placeholder.replace("ROOT_ID", "ROOT/ID"), value)
        words = shlex.split(command)
        assert words[0] == "ckpt"
        location = Store.open(words[2])
        before = read_all(location)
        code, plan = self.ckpt(*words[1:], "--json")
        assert code == 0, plan
        assert read_all(location) == before, "a plan changes nothing"
        accepted = [word for effect in accept for word in ("--accept-sink", effect)]
        code, done = self.ckpt(
            *words[1:], *(CARRIED_OUT if words[1] != "seed" else ("--execute",)), *accepted, "--json"
        )
        assert code == 0, done
        effect = str(plan["sink_effect"])
        self._told |= {"repaired": f"`ckpt {words[1]}`", "rows": effect}
        return effect

    def ckpt(self, *words: str) -> tuple[int, dict[str, Any]]:
        """Run a command; its exit code and its JSON document, or what it says of an error."""
        self.capsys.readouterr()
        code = run(list(words))
        out, err = self.capsys.readouterr()
        return code, json.loads(out) if out.startswith("{") else {"error": err or out}

    def ends(self, repaired: str = "", rows: str = "") -> None:
        """The symptom is gone: what let the query go on, and what became of the rows, where no command says it."""
        told: Mapping[str, str] = {"spark": "", "explained": "", "repaired": repaired, "rows": rows, **self._told}
        texts = {key: value or {"repaired": repaired, "rows": rows}.get(key, "") for key, value in told.items()}
        self.outcomes.append(Outcome(self.symptom, self.case, **texts, conditions=frozenset(self._conditions)))


def record(log: str, version: str, name: str, home: Path) -> None:
    """Keep a log, without the places of this machine."""
    for place in (home, home.resolve()):
        log = log.replace(str(place), "/data")
    log = log.replace(str(REPOSITORY), "/app")
    log = re.sub(r'File "[^"]*/(site-packages|lib/python3\.\d+)/', r'File "/python/\1/', log)
    log = re.sub(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d ", "26/11/23 02:00:00 ", log)
    folder = RECORDED / version
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.log").write_text(log)
