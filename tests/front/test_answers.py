"""The wall: every ending becomes one message, and a surprise is logged and not told."""

from __future__ import annotations

import json
import logging

import pytest

from emceepee.errors import BackendTimeout, ClientFault, LimitReached
from emceepee.front import answers
from emceepee.protocol.messages import Request
from emceepee.vocabulary.outcomes import Failed

ASKED = Request("x", "tools/call")


async def failing(error: Exception) -> bytes:
    raise error


async def failing_modern(error: Exception) -> tuple[int, bytes]:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (ClientFault(-32602, "no such tool"), -32602, None),
        (BackendTimeout("s", "silent"), -32603, "backend_timeout"),
        (LimitReached("calls", 3), -32603, "limit"),
    ],
)
async def test_a_known_fault_is_told_alike_in_both_eras(error: Exception, code: int, reason: str | None) -> None:
    legacy = json.loads(await answers.legacy_answer(ASKED, "2025-11-25", failing(error)))
    _, body = await answers.modern_answer(ASKED, failing_modern(error))
    for told in (legacy, json.loads(body)):
        assert told["id"] == "x"
        assert told["error"]["code"] == code
        assert told["error"].get("data", {}).get("reason") == reason


async def test_a_surprise_is_logged_with_its_traceback_and_told_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    legacy = await answers.legacy_answer(ASKED, "2025-11-25", failing(KeyError("secret")))
    status, modern = await answers.modern_answer(ASKED, failing_modern(KeyError("secret")))
    assert status == 200
    for body in (legacy, modern):
        assert json.loads(body)["error"] == {"code": -32603, "message": "Internal error"}
    assert [record.message for record in caplog.records] == ["internal_error"] * 2
    assert all(record.exc_info is not None for record in caplog.records)


def test_a_missing_resource_has_the_code_of_each_era() -> None:
    ended = Failed(-32002, "gone", kind="resource_not_found")
    assert json.loads(answers.legacy_error(1, ended, "resources/read", "2025-11-25"))["error"]["code"] == -32002
    assert json.loads(answers.modern_error(1, ended, "resources/read")[1])["error"]["code"] == -32602


async def test_work_that_nobody_waits_for_is_logged_when_it_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await answers.logged(failing(LimitReached("listeners", 1)), "listen_failed")
    await answers.logged(failing(KeyError("x")), "listen_failed")
    assert [(record.message, record.levelname) for record in caplog.records] == [
        ("listen_failed", "WARNING"),
        ("listen_failed", "ERROR"),
    ]
