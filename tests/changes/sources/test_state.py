"""Which changes a query with state may have."""

from __future__ import annotations

import pytest

from airflow_provider_ckpt.changes.sources.source_change import parse_change
from airflow_provider_ckpt.changes.sources.state import STATELESS, Operators, require_kept_state
from airflow_provider_ckpt.errors import PlanError

ONE = Operators(1, ("stateStoreSave",))
UNNAMED = Operators(1, None)
TWO = Operators(2, ("dedupe", "stateStoreSave"))
TWINS = Operators(2, ("dedupe", "dedupe"))
JOIN = Operators(1, ("symmetricHashJoin",), joins=True)
OLD_JOIN = Operators(1, None, joins=True)
OLD_TWO = Operators(2, None)

ADD, FRONT, DROP, SWAP, COPY = (
    ["0=0", "1=1", "2=new"],
    ["0=new", "1=0", "2=1"],
    ["0=1"],
    ["0=1", "1=0"],
    ["0=0", "1=1", "2=1"],
)
NAMES, NAMED_AND_MORE, NAMED_LESS = ["a=0", "b=1"], ["a=0", "b=1", "c=new"], ["a=0"]

ALLOWED = [
    *((STATELESS, change, None) for change in (ADD, FRONT, DROP, SWAP, COPY, NAMES)),
    *((ONE, change, None) for change in (ADD, FRONT, DROP, SWAP, COPY, NAMES, NAMED_LESS)),
    *((UNNAMED, change, None) for change in (ADD, DROP, SWAP, COPY)),
    (ONE, SWAP, ONE.names),
    *((TWO, change, TWO.names) for change in (ADD, FRONT, DROP, SWAP, COPY)),
    *((operators, NAMES, None) for operators in (TWO, TWINS, JOIN, OLD_JOIN, OLD_TWO)),
    *((operators, change, operators.names) for operators in (TWINS, JOIN) for change in (ADD, FRONT, NAMED_AND_MORE)),
]


@pytest.mark.parametrize(("operators", "said", "declared"), ALLOWED)
def test_a_change_in_which_no_operator_can_come_to_the_state_of_another_is_allowed(operators, said, declared):
    dropped = [] if any(text.endswith("=0") for text in said) else ["0"]
    dropped += [] if any(text.endswith("=1") for text in said) else ["1"]
    require_kept_state(parse_change(said, dropped, declared), ("0", "1"), operators, "/c")


REFUSED = [
    (ONE, SWAP, ("dedupe",), "while the next query has dedupe"),
    (ONE, SWAP, (), "while the next query has none"),
    (UNNAMED, SWAP, ("stateStoreSave",), "no file tells the names"),
    *((TWO, change, None, "--operator dedupe --operator stateStoreSave") for change in (ADD, DROP, SWAP, COPY)),
    *((OLD_TWO, change, None, "of which no file tells the names") for change in (ADD, DROP, SWAP, COPY)),
    (TWO, SWAP, ("stateStoreSave", "dedupe"), "while the next query has stateStoreSave, dedupe"),
    (TWINS, SWAP, TWINS.names, "operators of one name may change places"),
    (TWINS, DROP, TWINS.names, "without source 0, operators of one name may change places"),
    (TWINS, COPY, TWINS.names, "read more than once"),
    (JOIN, SWAP, JOIN.names, "the sides of the join may change places"),
    (JOIN, DROP, JOIN.names, "without source 0, the sides of the join"),
    (JOIN, COPY, JOIN.names, "the sides of the join"),
    (JOIN, ADD, None, "--operator symmetricHashJoin"),
    (OLD_JOIN, ADD, None, "a join of two streams, of which no file tells the names"),
]


@pytest.mark.parametrize(("operators", "said", "declared", "says"), REFUSED)
def test_any_other_change_is_refused_with_the_reason(operators, said, declared, says):
    dropped = ["0"] if said == DROP else []
    with pytest.raises(PlanError, match=says):
        require_kept_state(parse_change(said, dropped, declared), ("0", "1"), operators, "/c")


NAMED = [
    (JOIN, ["x=a", "y=b"], None, True),
    (JOIN, ["a=b", "b=a"], JOIN.names, False),
    (JOIN, ["0=a", "1=b"], JOIN.names, False),
    (TWO, ["0=a", "1=b"], TWO.names, True),
    (ONE, ["a=b", "b=a"], None, True),
]


@pytest.mark.parametrize(("operators", "said", "declared", "allowed"), NAMED)
def test_names_have_no_order_that_a_file_tells(operators, said, declared, allowed):
    change = parse_change(said, [], declared)
    if allowed:
        require_kept_state(change, ("a", "b"), operators, "/c")
        return
    with pytest.raises(PlanError, match="change places"):
        require_kept_state(change, ("a", "b"), operators, "/c")
