"""The gateway's own settings as a file gives them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emceepee.config.gateway_settings import build_settings, read_settings
from emceepee.config.jsonc import read
from emceepee.config.problems import Problem, Report
from emceepee.config.settings import DEFAULTS


def settings(value: Any, environment: dict[str, str] | None = None) -> tuple[dict[str, Any], list[Problem]]:
    document = read(json.dumps(value).encode())
    report = Report("mcp.json", document)
    return read_settings(document.root, "emceepee", report, environment or {}), report.problems


@pytest.mark.shows("X-GAP-09")
def test_every_setting_can_be_given_under_its_name_in_either_spelling() -> None:
    values, problems = settings(
        {
            "host": "::1",
            "port": 9000,
            "allowedOrigins": ["https://x.test"],
            "profile": "core",
            "log_level": "debug",
            "logFormat": "json",
            "insecureNoAuth": True,
            "stateKeys": ["${KEY}", "k" * 32],
            "ask_in_tasks": False,
            "rootsBridge": True,
            "timeouts": {"execute": 300, "sessionIdle": 60.5},
            "limits": {"max_servers": 5, "maxBody": 1024},
        },
        {"KEY": "x" * 40},
    )
    assert problems == []
    built = build_settings(values)
    assert (built.host, built.port, built.allowed_origins) == ("::1", 9000, ("https://x.test",))
    assert built.for_relay().profile == "core"
    assert (built.log_level, built.log_format, built.insecure_no_auth) == ("debug", "json", True)
    assert (built.timeouts.execute, built.timeouts.session_idle) == (300.0, 60.5)
    assert (built.limits.max_servers, built.limits.max_body) == (5, 1024)
    assert built.state_keys == ("x" * 40, "k" * 32)
    assert "xxxx" not in repr(built)
    assert (built.for_relay().ask_in_tasks, built.for_relay().roots_bridge) == (False, True)
    assert built.timeouts.connect == DEFAULTS.timeouts.connect


def test_variables_give_numbers_and_truth_values_too() -> None:
    value = {"port": "${PORT}", "host": "${HOST:-localhost}", "insecure_no_auth": "${OPEN}", "log_level": "WARNING"}
    values, problems = settings(value, {"PORT": "99", "OPEN": "true"})
    assert problems == []
    assert values == {"port": 99, "host": "localhost", "insecure_no_auth": True, "log_level": "warn"}


def test_nothing_given_is_the_defaults() -> None:
    assert build_settings({}) == DEFAULTS


@pytest.mark.parametrize(
    ("value", "where", "said"),
    [
        ({"prot": 1}, "emceepee.prot", "did you mean 'port'"),
        ({"timeouts": {"exec": 1}}, "emceepee.timeouts.exec", "did you mean 'execute'"),
        ({"zzz": 1}, "emceepee.zzz", "there is host, port"),
        ({"port": "x"}, "emceepee.port", "a whole number"),
        ({"port": 1.5}, "emceepee.port", "a whole number"),
        ({"port": True}, "emceepee.port", "a whole number"),
        ({"port": 65536}, "emceepee.port", "from 0 to 65535"),
        ({"port": "${NOPE}"}, "emceepee.port", "NOPE is not set"),
        ({"host": ""}, "emceepee.host", "a text"),
        ({"host": 5}, "emceepee.host", "a text"),
        ({"allowed_origins": "x"}, "emceepee.allowed_origins", "a list of texts"),
        ({"allowed_origins": [1]}, "emceepee.allowed_origins", "a list of texts"),
        ({"state_keys": ["short"]}, "emceepee.state_keys", "at least 32 characters"),
        ({"state_keys": ["${NOPE}"]}, "emceepee.state_keys", "NOPE is not set"),
        ({"insecure_no_auth": "yes"}, "emceepee.insecure_no_auth", "true or false"),
        ({"profile": "small"}, "emceepee.profile", "one of full, core"),
        ({"interaction": "nativ"}, "emceepee.interaction", "one of auto, native, meta"),
        ({"log_level": "loud"}, "emceepee.log_level", "one of debug, info, warn, error"),
        ({"timeouts": {"execute": 0}}, "emceepee.timeouts.execute", "more than 0"),
        ({"timeouts": {"execute": "nan"}}, "emceepee.timeouts.execute", "more than 0"),
        ({"limits": {"max_body": -1}}, "emceepee.limits.max_body", "more than 0"),
        ({"timeouts": 5}, "emceepee.timeouts", "map of settings"),
        ([], "emceepee", "map of settings"),
    ],
)
def test_a_wrong_setting_is_told_with_its_place_and_not_used(value, where, said) -> None:
    values, (problem,) = settings(value)
    assert values == {}
    assert problem.where == where
    assert said in f"{problem.what} {problem.cure}"
    assert problem.severity == "error"
