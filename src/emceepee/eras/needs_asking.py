"""What a model is told of a tool that needs to ask its client something, as long as no ask is carried.

Not here: asks themselves. The one rule: it is the tool that failed and not the protocol, so the text reaches the model;
of any other method the client is told an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Raw

from emceepee.eras.faults import URL_ELICITATION_REQUIRED, Incomplete
from emceepee.eras.peek import is_array
from emceepee.eras.refusal import MISSING_CAPABILITY
from emceepee.vocabulary.outcomes import Done, Failed
from emceepee.vocabulary.profiles import NO_ASKS, AskProfile
from emceepee.vocabulary.raw_json import (
    EMPTY_OBJECT,
    Fields,
    NotThatShape,
    Payload,
    read_fields,
    read_items,
    read_text,
    write,
)


def result_instead(method: str, failed: Failed, asks: AskProfile = NO_ASKS) -> bytes | None:
    """The result which a model should see in place of this error, or None when the error is told as one, because the
    client knows what to do about it."""
    if method == "tools/call" and failed.code == URL_ELICITATION_REQUIRED and "url" not in asks:
        return write(_to_be_visited(failed))
    if method != "tools/call" or failed.code != MISSING_CAPABILITY:
        return None
    required = _members({} if failed.data is None else _members(failed.data).get("requiredCapabilities"))
    return write(_failed_tool(required, f": {failed.message}"))


def tool_that_asks(method: str, unfinished: Incomplete) -> Done | None:
    """The same for a result that wants input, or None for any other unfinished result."""
    if method != "tools/call" or unfinished.result_type != "input_required":
        return None
    asks = _members(unfinished.fields.get("inputRequests", EMPTY_OBJECT)).values()
    methods = {read_text(_members(ask).get("method")) for ask in asks}
    return Done(Payload.of(_failed_tool(sorted(kind for kind in methods if kind is not None))))


def _failed_tool(wanted: Iterable[str], why: str = "") -> dict[str, Any]:
    named = ", ".join(wanted)
    text = f"This tool needs something of the client that cannot be asked for here{f' ({named})' if named else ''}{why}"
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _to_be_visited(failed: Failed) -> dict[str, Any]:
    """The addresses, which a model can show to its person."""
    listed = _members(failed.data).get("elicitations", Raw(b"[]"))
    lines = [failed.message]
    for one in read_items(listed) if is_array(listed) else ():
        message, url = (read_text(_members(one).get(key)) or "" for key in ("message", "url"))
        lines.append(f"{message}: {url}" if message else url)
    text = "\n".join(lines) + "\nCall the tool again when that is done."
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _members(value: Raw | bytes | Fields | None) -> Fields:
    """Of an object; none of anything else."""
    if isinstance(value, dict):
        return value
    try:
        return {} if value is None else read_fields(value)
    except NotThatShape:
        return {}
