"""What counts as declared."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.tools.abilities import ClientAbilities


@pytest.mark.shows("D-CAP-02", "X-PY-02")
@pytest.mark.parametrize(
    ("capabilities", "supported"),
    [({"sampling": {}}, True), ({"sampling": {"tools": {}}}, True), ({}, False), ({"sampling": None}, False)],
)
def test_an_empty_object_is_a_yes(capabilities: Any, supported: bool) -> None:
    assert ClientAbilities(capabilities).supports_sampling is supported


def test_what_is_inside_counts_too() -> None:
    can = ClientAbilities({"sampling": {"context": {}}, "elicitation": {"form": {}}, "roots": {"listChanged": True}})
    assert (can.supports_sampling_context, can.supports_sampling_tools) == (True, False)
    assert (can.supports_elicitation, can.supports_elicitation_url, can.supports_roots) == (True, False, True)
    assert not ClientAbilities({"sampling": True}).supports_sampling_context
