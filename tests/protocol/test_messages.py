"""What we write is what a reader reads, and ids go back as they came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.framing.json_text import Limits, read_message
from emceepee.protocol.messages import (
    ErrorObject,
    Failure,
    Notification,
    Request,
    Result,
    write_failure,
    write_notification,
    write_request,
    write_result,
)
from emceepee.vocabulary.raw_json import write

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
IDS = st.integers() | TEXTS
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=3)


@given(IDS, TEXTS, OBJECTS)
def test_a_request_reads_back_as_it_was_written(identity: int | str, method: str, params: dict[str, Any]) -> None:
    message = read_message(write_request(identity, method, write(params)), Limits())
    assert isinstance(message, Request)
    assert (message.id, type(message.id), message.method) == (identity, type(identity), method)
    assert message.params is not None
    assert json.loads(bytes(message.params)) == params


@pytest.mark.shows("C-DISP-08")
def test_a_written_request_has_all_four_members_in_one_line() -> None:
    written = write_request("g-1", "tools/call", b'{"name":"echo"}')
    assert json.loads(written) == {"jsonrpc": "2.0", "id": "g-1", "method": "tools/call", "params": {"name": "echo"}}
    assert b"\n" not in written


def test_members_that_are_not_there_are_not_written() -> None:
    assert json.loads(write_request(1, "ping", None)) == {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert json.loads(write_notification("a", None)) == {"jsonrpc": "2.0", "method": "a"}


@given(TEXTS, OBJECTS)
def test_a_notification_reads_back_as_it_was_written(method: str, params: dict[str, Any]) -> None:
    message = read_message(write_notification(method, write(params)), Limits())
    assert isinstance(message, Notification)
    assert message.method == method
    assert json.loads(bytes(message.params or b"")) == params


@given(IDS, OBJECTS)
def test_a_result_reads_back_as_it_was_written(identity: int | str, result: dict[str, Any]) -> None:
    message = read_message(write_result(identity, write(result)), Limits())
    assert isinstance(message, Result)
    assert (message.id, type(message.id)) == (identity, type(identity))
    assert json.loads(bytes(message.result)) == result


@given(IDS | st.none(), st.integers(-(2**31), 2**31), TEXTS, OBJECTS)
def test_a_failure_reads_back_as_it_was_written(
    identity: int | str | None, code: int, text: str, data: dict[str, Any]
) -> None:
    message = read_message(write_failure(identity, code, text, data), Limits())
    assert isinstance(message, Failure)
    assert (message.id, message.error.code, message.error.message) == (identity, code, text)
    assert json.loads(bytes(message.error.data or b"")) == data


def test_an_error_object_leaves_out_data_that_is_not_there() -> None:
    assert json.loads(write(ErrorObject(-1, "x"))) == {"code": -1, "message": "x"}
