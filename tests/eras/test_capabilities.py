"""What is offered through us."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.eras.capabilities import declares_tasks, offered
from emceepee.vocabulary.raw_json import read_fields, read_value, write
from tests.support.era_requests import raw


@pytest.mark.shows("X-PY-02")
def test_all_offers_cross_but_tasks() -> None:
    capabilities = {
        "tools": {"listChanged": True},
        "logging": {},
        "future": {"x": [1]},
        "tasks": {"list": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}, "vendor.example/ui": {}},
    }
    kept = read_value(write(offered(read_fields(raw(capabilities)))))
    assert kept == {
        "tools": {"listChanged": True},
        "logging": {},
        "future": {"x": [1]},
        "extensions": {"vendor.example/ui": {}},
    }


@pytest.mark.parametrize(
    ("capabilities", "declares"),
    [
        ({}, False),
        ({"tasks": {}}, False),
        ({"extensions": {"vendor.example/ui": {}}}, False),
        ({"extensions": 5}, False),
        ({"extensions": {"io.modelcontextprotocol/tasks": {}}}, True),
    ],
)
def test_tasks_are_declared_by_the_name_of_their_extension(capabilities: Any, declares: bool) -> None:
    assert declares_tasks(read_fields(raw(capabilities))) is declares
