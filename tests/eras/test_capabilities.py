"""What is offered through us."""

from __future__ import annotations

import pytest

from emceepee.eras.capabilities import offered
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
