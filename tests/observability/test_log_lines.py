"""Log lines: their form, what never stands in them, and that they never harm."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from emceepee.observability import log_lines

LOG = logging.getLogger("emceepee.backends")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def start() -> Iterator[Callable[..., io.StringIO]]:
    stops = []

    def starting(level: str = "info", format: str = "json", stream: Any = None, logger: Any = None) -> Any:
        out = io.StringIO() if stream is None else stream
        stops.append(log_lines.start(level, format, out, logger))
        return out

    yield starting
    for stop in stops:
        stop()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.shows("A-LOG-01")
def test_an_entry_is_one_json_object_on_one_line_with_timestamp_level_event_and_data(start) -> None:
    out = start()
    LOG.info("server_connected", extra={"data": {"server": "files", "note": "two\nlines"}})
    assert out.getvalue().count("\n") == 1
    (said,) = lines(out)
    assert said.pop("timestamp").endswith("Z")
    assert said == {"level": "info", "event": "server_connected", "data": {"server": "files", "note": "two\nlines"}}


@pytest.mark.shows("A-LOG-01")
def test_an_entry_without_facts_has_no_data(start) -> None:
    out = start()
    LOG.info("session_manager_shutdown_complete")
    assert set(lines(out)[0]) == {"timestamp", "level", "event"}


@pytest.mark.shows("A-LOG-02")
@pytest.mark.parametrize(
    ("minimum", "written"),
    [
        ("debug", ["debug", "info", "warn", "error"]),
        ("info", ["info", "warn", "error"]),
        ("warn", ["warn", "error"]),
        ("error", ["error"]),
    ],
)
def test_entries_under_the_minimum_are_not_written(start, minimum, written) -> None:
    out = start(minimum)
    LOG.debug("one")
    LOG.info("two")
    LOG.warning("three")
    LOG.error("four")
    assert [said["level"] for said in lines(out)] == written


@pytest.mark.shows("A-LOG-02")
def test_the_minimum_is_info_unless_said_otherwise() -> None:
    out = io.StringIO()
    stop = log_lines.start(format="json", stream=out)
    LOG.debug("too_fine")
    LOG.info("right")
    stop()
    assert [said["event"] for said in lines(out)] == ["right"]


@pytest.mark.shows("A-LOG-03")
def test_any_object_with_the_four_methods_can_take_the_events_instead(start) -> None:
    class Taking:
        def __init__(self) -> None:
            self.taken: list[tuple[str, str, Any]] = []

        def debug(self, event: str, data: Any) -> None:
            self.taken.append(("debug", event, data))

        def info(self, event: str, data: Any) -> None:
            self.taken.append(("info", event, data))

        def warn(self, event: str, data: Any) -> None:
            self.taken.append(("warn", event, data))

        def error(self, event: str, data: Any) -> None:
            raise OSError("a logger that fails harms nobody")

    mine = Taking()
    start("debug", logger=mine)
    LOG.debug("a")
    LOG.info("b", extra={"data": {"server": "files"}})
    LOG.warning("c")
    LOG.error("d")
    assert mine.taken == [("debug", "a", None), ("info", "b", {"server": "files"}), ("warn", "c", None)]


@pytest.mark.shows("A-LOG-03")
def test_without_a_logger_nothing_is_written_anywhere(capfd, monkeypatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    LOG.error("nobody_listens")
    assert capfd.readouterr() == ("", "")


@pytest.mark.shows("X-BUG-53")
def test_every_level_goes_to_standard_error_and_standard_output_stays_clean(capfd) -> None:
    stop = log_lines.start("debug", "json")
    for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        LOG.log(level, "said")
    stop()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count('"said"') == 4


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def endless() -> dict[str, Any]:
    knot: dict[str, Any] = {}
    knot["again"] = knot
    return knot


@pytest.mark.shows("X-BUG-53")
@pytest.mark.parametrize(
    "value",
    [object(), Unshowable(), endless(), b"\xff", "\ud800", 2**70, float("nan"), {1: {2}}, {Unshowable(): 1}],
)
@pytest.mark.parametrize("format", ["json", "text"])
def test_a_value_that_is_no_json_is_written_as_well_as_can_be(start, value, format) -> None:
    out = start(format=format)
    LOG.info("odd", extra={"data": {"value": value}})
    assert out.getvalue().count("\n") == 1
    assert "odd" in out.getvalue()


@pytest.mark.shows("X-BUG-53")
def test_a_stream_that_is_closed_or_full_harms_nobody(start) -> None:
    out = start()
    out.close()
    LOG.info("into_nothing")


@pytest.mark.shows("X-GAP-18", "X-GAP-08")
def test_secrets_are_masked_by_key_and_urls_lose_user_and_query(start) -> None:
    out = start()
    data = {
        "url": "https://user:pw@host.test/mcp?key=abc#part",
        "error": "connect to http://u:pw@h:1/x?t=abc failed with Bearer abcdefghijkl",
        "headers": {"Authorization": "Bearer abc", "X-Api-Key": "abc", "accept": "json"},
        "env": [{"GITHUB_TOKEN": "abc", "password": "abc", "client_secret": "abc"}],
        "progressToken": "p1",
        "maxTokens": 5,
    }
    LOG.info("told", extra={"data": data})
    said = lines(out)[0]["data"]
    assert said["url"] == "https://host.test/mcp"
    assert said["error"] == "connect to http://h:1/x failed with Bearer ***"
    assert said["headers"] == {"Authorization": "***", "X-Api-Key": "***", "accept": "json"}
    assert said["env"] == [{"GITHUB_TOKEN": "***", "password": "***", "client_secret": "***"}]
    assert (said["progressToken"], said["maxTokens"]) == ("p1", 5)


def test_long_texts_and_lists_are_cut(start) -> None:
    out = start()
    LOG.info("long", extra={"data": {"text": "x" * 10_000, "items": list(range(10_000))}})
    assert len(out.getvalue()) < 4000


def test_an_exception_is_told_by_type_and_place_and_not_with_its_secrets(start) -> None:
    out = start()
    try:
        raise ValueError("cannot reach http://u:pw@h/x?key=abc")
    except ValueError as error:
        LOG.error("failed", exc_info=error)
    said = lines(out)[0]["data"]
    assert said["error"] == "ValueError: cannot reach http://h/x"
    assert "test_log_lines.py" in said["trace"][0]


def test_what_libraries_say_is_wrapped_and_heard_from_warn_on(start) -> None:
    out = start("debug")
    logging.getLogger("uvicorn.error").info("started")
    logging.getLogger("uvicorn.error").warning("odd %s", "thing")
    (said,) = lines(out)
    assert said["event"] == "log_message"
    assert said["data"] == {"logger": "uvicorn.error", "message": "odd thing"}


def test_a_terminal_gets_readable_lines_and_a_pipe_gets_json(start) -> None:
    terminal, pipe = start(format="auto", stream=Terminal()), start(format="auto")
    LOG.info("server_connected", extra={"data": {"server": "files", "note": "two\nlines"}})
    assert terminal.getvalue().endswith(' info  server_connected server=files note="two\\nlines"\n')
    assert lines(pipe)[0]["event"] == "server_connected"
