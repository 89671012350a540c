"""Log records as lines on standard error: one JSON object each, or one readable line where a person looks on.

Rooms log with the standard library: the message is an event's name, `extra={"data": {…}}` its facts. Without `start`
nothing is written at all. Standard output is never touched: over stdio it carries the protocol (X-BUG-53).

The one rule: writing a log line never raises, whatever is in it and wherever it goes.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TextIO, TypeAlias

import msgspec

from emceepee.observability.masking import masked, masked_text
from emceepee.runtime.clock import iso

Level: TypeAlias = Literal["debug", "info", "warn", "error"]
Format: TypeAlias = Literal["auto", "json", "text"]

_NUMBERS: dict[Level, int] = {"debug": 10, "info": 20, "warn": 30, "error": 40}
_OURS = "emceepee"
_event_name = re.compile(r"[a-z][a-z0-9_]*\Z")

logging.getLogger(_OURS).addHandler(logging.NullHandler())


class FourLevels(Protocol):
    """A logger of somebody else's: any object with these four methods takes our events (A-LOG-03)."""

    def debug(self, event: str, data: dict[str, Any] | None) -> None: ...

    def info(self, event: str, data: dict[str, Any] | None) -> None: ...

    def warn(self, event: str, data: dict[str, Any] | None) -> None: ...

    def error(self, event: str, data: dict[str, Any] | None) -> None: ...


def start(
    level: Level = "info", format: Format = "auto", stream: TextIO | None = None, logger: FourLevels | None = None
) -> Callable[[], None]:
    """Write lines from now on, to standard error or the stream given, or hand events to a logger instead. Libraries are
    heard from `warn` on. The returned function ends it."""
    out = sys.stderr if stream is None else stream
    handler: logging.Handler = _Handed(logger) if logger is not None else _Lines(out, _shape(format, out))
    root, ours = logging.getLogger(), logging.getLogger(_OURS)
    before = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(max(logging.WARNING, _NUMBERS[level]))
    ours.setLevel(_NUMBERS[level])

    def stop() -> None:
        root.removeHandler(handler)
        root.setLevel(before[0])
        ours.setLevel(before[1])

    return stop


def _shape(format: Format, stream: TextIO) -> Callable[[dict[str, Any]], str]:
    if format == "auto":
        with contextlib.suppress(Exception):
            format = "text" if stream.isatty() else "json"
    return as_text if format == "text" else as_json


def entry(record: logging.LogRecord) -> dict[str, Any]:
    """What a record says, in the seeds' words, with secrets masked."""
    said = {"timestamp": iso(datetime.fromtimestamp(record.created, UTC)), "level": _level(record.levelno)}
    data = getattr(record, "data", None)
    facts: dict[str, Any] = masked(data) if isinstance(data, dict) else {} if data is None else {"value": masked(data)}
    ours = record.name == _OURS or record.name.startswith(_OURS + ".")
    if ours and isinstance(record.msg, str) and _event_name.match(record.msg):
        said["event"] = record.msg
    else:
        said["event"] = "log_message"
        facts = {"logger": record.name, "message": _message(record), **facts}
    if record.exc_info and record.exc_info[1] is not None:
        facts |= _failure(record.exc_info[1])
    return said | ({"data": facts} if facts else {})


def as_json(said: dict[str, Any]) -> str:
    return msgspec.json.encode(said).decode()


def as_text(said: dict[str, Any]) -> str:
    """`12:34:56.789 info  server_connected server=files`: one line, whatever is in the values."""
    facts = "".join(f" {name}={_word(value)}" for name, value in said.get("data", {}).items())
    return f"{said['timestamp'][11:23]} {said['level']:<5} {said['event']}{facts}"


def _word(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"[\w./:@+,*-]+", value):
        return value
    return msgspec.json.encode(value).decode()


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    return "warn" if number >= logging.WARNING else "info" if number >= logging.INFO else "debug"


def _message(record: logging.LogRecord) -> str:
    with contextlib.suppress(Exception):
        return masked_text(record.getMessage())
    return "(a message that does not fit its arguments)"


def _failure(error: BaseException) -> dict[str, Any]:
    """An exception by type, sentence and places; never the source lines or values around it."""
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    trace = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": masked_text(f"{type(error).__name__}: {error}"), "trace": trace}


class _Lines(logging.Handler):
    def __init__(self, stream: TextIO, shape: Callable[[dict[str, Any]], str]) -> None:
        super().__init__()
        self._stream = stream
        self._shape = shape

    def emit(self, record: logging.LogRecord) -> None:
        # A logger that raises would end the call that it tells about; a closed stream takes nothing more.
        with contextlib.suppress(Exception):
            self._stream.write(self._line(record) + "\n")
            self._stream.flush()

    def _line(self, record: logging.LogRecord) -> str:
        with contextlib.suppress(Exception):
            return self._shape(entry(record))
        return as_json({"level": "error", "event": "log_line_failed"})


class _Handed(logging.Handler):
    def __init__(self, logger: FourLevels) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(Exception):
            said = entry(record)
            getattr(self._logger, said["level"])(said["event"], said.get("data"))
