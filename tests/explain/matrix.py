"""How often explain is right: every recorded failure of a user, every recorded symptom and every report, in each form.

python -m tests.explain.matrix
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from airflow_provider_ckpt.explain.explain import explain
from airflow_provider_ckpt.explain.explanation import Explanation
from tests.explain.forms import FORMS, forms_of
from tests.explain.users.texts import unpack

HERE = Path(__file__).parent
VERSIONS = ("4.3", "3.5")
#: What a symptom printed when it was produced; a name that two directories have is two symptoms.
SYMPTOMS = (HERE.parent / "data" / "symptoms", HERE / "traces")
REPORTS = HERE / "reports.yaml"
#: Commands that show, and change nothing.
SHOWING = {"check", "gate", "show", "log", "history", "backups", "lag", "diff", "explain", "fleet"}
#: Explanations that are right of a user's own failure, by the beginning of its kind: they blame no checkpoint.
ALLOWED = {"kafka": ("kafka-data-loss",)}


@dataclass(frozen=True, slots=True)
class Answer:
    """What explain says of one text.

    Args:
        claimed: Pages, or what entries are called, whose cause is claimed.
        possible: Those of which it says that they are possible.
        changes: Commands that change something beside what is only possible.
    """

    claimed: frozenset[object]
    possible: frozenset[object]
    changes: tuple[str, ...]

    @property
    def named(self) -> frozenset[object]:
        """All of it."""
        return self.claimed | self.possible

    @property
    def word(self) -> str:
        """The strongest of it, for a table."""
        return "claimed" if self.claimed else "possible" if self.possible else "unknown"


@dataclass(frozen=True, slots=True)
class Judged:
    """One text in one form.

    Args:
        kind: The row of the table.
        name: Which failure it is.
        form: In which form.
        answer: What explain says of it.
        fault: What is wrong with the answer; None when it is right.
        is_found: Whether what it is about is named; of a user's failure there is nothing to be found.
    """

    kind: str
    name: str
    form: str
    answer: Answer
    fault: str | None
    is_found: bool = True


@cache
def answer(text: str) -> Answer:
    """What explain says of a text."""
    claimed, possible, changes = set(), set(), list[str]()
    for item in explain(text.splitlines()).explanations:
        if item.cause is None:  # a condition that no checkpoint raises
            continue
        if item.cause_text is not None:
            claimed.add(_key(item))
        else:
            possible.add(_key(item))
            changes += [command for command in item.commands if command.split()[1] not in SHOWING]
    return Answer(frozenset(claimed), frozenset(possible), tuple(changes))


def _key(item: Explanation) -> object:
    return item.page or (item.match.entry.title if item.match.entry else item.title)


def users(logs: int = 1) -> Iterator[Judged]:
    """Every failure of a user's own: no cause may be claimed.

    Args:
        logs: Of so many failures the whole log is read for one; the log is most of the bytes.
    """
    for version in VERSIONS:
        for number, failure in enumerate(unpack(version)):
            kind = failure["kind"].partition("/")[0]
            allowed = next((pages for name, pages in ALLOWED.items() if kind.startswith(name)), ())
            texts = forms_of(failure["log"], failure["said"], failure["json"])
            for form, text in {**texts, "traceback": failure["traceback"]}.items():
                if form in ("log", "json") and number % logs:
                    continue
                got = answer(text)
                name = f"{failure['kind']} ({version})"
                yield Judged(kind, name, form, got, _false_claim(got, allowed))


def _false_claim(got: Answer, allowed: Iterable[object] = ()) -> str | None:
    if wrong := got.claimed - set(allowed):
        return f"claims {', '.join(sorted(map(str, wrong)))}"
    return f"offers {got.changes[0]}" if got.changes else None


def symptoms() -> Iterator[Judged]:
    """Every symptom that was produced: what the whole of it is about has to be named in each form of it.

    That the whole is explained rightly is what test_recorded.py and test_explain.py say.
    """
    for root in SYMPTOMS:
        for path in sorted(root.glob("*/*.log")):
            log = path.read_text()
            traceback = path.with_suffix(".traceback")
            said = _words(traceback.read_text()) if traceback.exists() else ""
            right = answer(log).named
            for form, text in forms_of(log, said).items():
                got = answer(text)
                wrong = got.claimed - right
                fault = f"claims {', '.join(sorted(map(str, wrong)))}" if wrong else None
                yield Judged(_kind(right), f"{path.parent.name}/{path.stem}", form, got, fault, bool(got.named & right))


def _kind(right: frozenset[object]) -> str:
    return min(map(str, right), default="nothing")[:40]


def _words(traceback: str) -> str:
    """What is below the frames of a traceback of PySpark."""
    _, found, words = traceback.rpartition("\npyspark.errors.exceptions.captured.")
    return words if found else ""


def reports() -> Iterator[Judged]:
    """Every report of others, each with what is right to say of it."""
    for report in yaml.safe_load(REPORTS.read_text()):
        pages = set(report.get("pages") or ())
        got = answer(report["text"])
        if report["about"] == "user":
            yield Judged("reports: user", report["name"], "report", got, _false_claim(got))
        else:
            is_found = bool(got.named & pages if pages else got.named)
            wrong = got.claimed - pages if pages else set()
            fault = f"claims {', '.join(sorted(map(str, wrong)))}" if wrong else None
            may_be_unknown = report["about"] == "other" and not pages
            yield Judged(
                f"reports: {report['about']}", report["name"], "report", got, fault, is_found or may_be_unknown
            )


def table(judged: Iterable[Judged]) -> Iterator[str]:
    """A row for each kind, with a count of each answer by the form."""
    every = list(judged)
    forms = [form for form in (*FORMS, "traceback", "report") if any(item.form == form for item in every)]
    kinds = list(dict.fromkeys(item.kind for item in every))
    wide = max(map(len, kinds))
    yield f"{'claimed/possible/unknown':<{wide}}  " + "  ".join(f"{form:>11}" for form in forms)
    for kind in kinds:
        cells = []
        for form in forms:
            counts = Counter(item.answer.word for item in every if item.kind == kind and item.form == form)
            cells.append("/".join(str(counts[word]) for word in ("claimed", "possible", "unknown")) if counts else "-")
        yield f"{kind:<{wide}}  " + "  ".join(f"{cell:>11}" for cell in cells)


def faults(judged: Iterable[Judged]) -> list[str]:
    """What is wrong, a line for each kind and fault."""
    found: dict[tuple[str, str], list[str]] = {}
    for item in judged:
        if item.fault:
            found.setdefault((item.kind, item.fault), []).append(f"{item.name}, {item.form}")
    return [f"{kind}: {fault}: {len(names)} texts, such as {names[0]}" for (kind, fault), names in found.items()]


def missed(judged: Iterable[Judged]) -> list[str]:
    """What was not found, a line for each failure with its forms."""
    found: dict[tuple[str, str], list[str]] = {}
    for item in judged:
        if not item.is_found:
            found.setdefault((item.kind, item.name), []).append(item.form)
    return [f"{kind}: {name}: {', '.join(forms)}" for (kind, name), forms in found.items()]


def share_found(judged: Iterable[Judged]) -> float:
    """The part of the texts that is found, from 0 to 1."""
    every = list(judged)
    return sum(item.is_found for item in every) / len(every)


def main() -> int:
    """Print the tables, what is wrong, and what was not found; 1 when a cause is claimed that is none."""
    wrong = list[str]()
    for title, judged in (("Failures of users", users()), ("Symptoms", symptoms()), ("Reports", reports())):
        every = list(judged)
        print(f"\n{title}: {len({item.name for item in every})} in {len(every)} texts")
        print("\n".join(table(every)))
        print(f"found: {share_found(every):.1%}; not found:", *(missed(every) or ["nothing"]), sep="\n  ")
        print("wrong:", *(faults(every) or ["nothing"]), sep="\n  ")
        wrong += faults(every)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
