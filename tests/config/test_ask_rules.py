"""Who answers, as a configuration says it."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.backends.definition import AskPolicy, ServerDefinition
from tests.config.test_entry import entry, wrong


def asking(**own: Any) -> ServerDefinition:
    found, _ = entry({"command": "x", "emceepee": own})
    assert found is not None
    return found


def test_nothing_said_is_the_usual() -> None:
    found = asking()
    assert (found.asks, found.concurrency, found.mark_calls) == (AskPolicy(), "parallel", False)


def test_steps_are_a_list_or_one_word() -> None:
    found = asking(asks={"elicitation": ["tools", "native"], "roots": "refuse", "sampling": []}, ambiguous="refuse")
    assert found.asks.ladder("elicitation", ("native",)) == ("tools", "native")
    assert found.asks.ladder("roots", ("native",)) == ("refuse",)
    assert found.asks.ladder("sampling", ("native",)) == ()
    assert AskPolicy().ladder("roots", ("native",)) == ("native",)
    assert found.describe()["ambiguous"] == "refuse"
    assert found.describe()["asks"]["roots"] == ["refuse"]


def test_the_others() -> None:
    found = asking(concurrency="serialize", markCalls=True, affinity="call")
    assert (found.concurrency, found.mark_calls, found.affinity) == ("serialize", True, "call")
    assert found.describe()["concurrency"] == "serialize"


@pytest.mark.parametrize(
    ("own", "where", "what"),
    [
        ({"asks": ["native"]}, ".asks", "has to be a map"),
        ({"asks": {"elicitation": ["nativ"]}}, ".asks.elicitation", "not all steps"),
        ({"asks": {"roots": 3}}, ".asks.roots", "not all steps"),
        ({"ambiguous": "guess"}, ".ambiguous", "'carrier' or 'refuse'"),
        ({"concurrency": "one"}, ".concurrency", "'parallel' or 'serialize'"),
    ],
)
def test_each_mistake_is_told_with_its_place(own: Any, where: str, what: str) -> None:
    told = wrong({"command": "x", "emceepee": own})
    assert any(place == f"mcpServers.files.emceepee{where}" and what in said for place, said in told), told
