"""Checking what came for one of our tools. Pure.

The one rule: a wrong argument is answered with its name, what is wrong with it, and what to send instead; it is never
guessed at.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from emceepee.meta_tools.answers import ToolExecutionError
from emceepee.meta_tools.tool import WORKSPACE, Arguments, Kind, Param, Tool
from emceepee.relay.reach import nearest
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text

INVALID_ARGUMENTS = "TOOL_ERR_INVALID_ARGUMENTS"

_decoders: dict[Kind, msgspec.json.Decoder[Any]] = {
    "string": msgspec.json.Decoder(str),
    "integer": msgspec.json.Decoder(int),
    "number": msgspec.json.Decoder(float),
    "boolean": msgspec.json.Decoder(bool),
    "strings": msgspec.json.Decoder(list[str]),
    "string_map": msgspec.json.Decoder(dict[str, str]),
    "objects": msgspec.json.Decoder(list[dict[str, Any]]),
}
_NULL = Raw(b"null")
_HIDDEN = Param("string", "the id that open_workspace gave")
_NEEDED: dict[Kind, str] = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "strings": "a list of strings",
    "string_map": "an object whose values are strings",
    "object": "an object",
    "objects": "a list of objects",
    "text_or_object": "a string or an object",
}


def read_arguments(tool: Tool, raw: Raw | None) -> Arguments:
    """The arguments by their own names. Raises `ToolExecutionError` for the first that is wrong."""
    try:
        fields = read_fields(raw) if raw is not None and raw != _NULL else {}
    except NotThatShape:
        raise _wrong(tool, "arguments", "must be an object", None) from None
    read: Arguments = {}
    for spelling, value in fields.items():
        name = tool.names.get(spelling)
        if name is None:
            raise _unknown(tool, spelling)
        if value != _NULL:
            read[name] = _read(tool, name, value)
    for name in tool.required:
        if name not in read:
            raise _wrong(tool, name, f"is missing; it must be {_NEEDED[tool.params[name].kind]}", None)
    return read


def _read(tool: Tool, name: str, raw: Raw) -> Any:
    param = tool.params.get(name, _HIDDEN)
    if param.kind == "object":
        return _object(tool, name, raw)
    if param.kind == "text_or_object":
        return _text_or_object(tool, name, raw)
    try:
        value = _decoders[param.kind].decode(raw)
    except msgspec.DecodeError:
        value = _from_text(param, raw)
        if value is None:
            raise _wrong(tool, name, f"must be {_NEEDED[param.kind]}", raw) from None
    if param.bounded and (problem := _out_of_range(param, value)):
        raise _wrong(tool, name, problem, raw)
    return value


def _from_text(param: Param, raw: Raw) -> Any:
    """Models often write a list, a map or a number as a string holding its JSON; that has only one meaning."""
    text = read_text(raw)
    if text is None or param.kind == "string":
        return None
    try:
        return _decoders[param.kind].decode(text.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def _out_of_range(param: Param, value: Any) -> str | None:
    if param.among and value not in param.among:
        return f"must be one of {', '.join(param.among)}"
    if param.least is not None and value < param.least:
        return f"must be at least {param.least}"
    if param.most is not None and value > param.most:
        return f"must be at most {param.most}"
    return None


def _object(tool: Tool, name: str, raw: Raw) -> Raw | None:
    """An object as it came, or the one that a JSON string holds."""
    first = bytes(memoryview(raw)[:1])
    if first == b"{":
        return raw
    text = read_text(raw)
    if text is not None and not text.strip():
        return None
    try:
        if text is not None:
            held = text.encode()
            msgspec.json.decode(held, type=dict[str, Any])
            return Raw(held)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        pass
    raise _wrong(tool, name, "must be an object, or a string that holds the JSON of one", raw)


def _text_or_object(tool: Tool, name: str, raw: Raw) -> Raw:
    """As it came: a text that looks like JSON may be meant as the text it is."""
    if bytes(memoryview(raw)[:1]) in (b"{", b'"'):
        return raw
    raise _wrong(tool, name, f"must be {_NEEDED['text_or_object']}", raw)


def _unknown(tool: Tool, spelling: str) -> ToolExecutionError:
    takes = ", ".join(tool.params) or "no arguments"
    near = nearest(spelling, list(tool.params))
    hint = f"; did you mean '{near}'?" if near else ""
    message = f"Unknown argument '{spelling[:80]}' of {tool.name}{hint}"
    return ToolExecutionError(INVALID_ARGUMENTS, message, {"field": spelling[:80]}, f"{tool.name} takes: {takes}")


def _wrong(tool: Tool, name: str, problem: str, raw: Raw | None) -> ToolExecutionError:
    param = _HIDDEN if name == WORKSPACE else tool.params.get(name)
    got = f" (got {_kind_of(raw)})" if raw is not None else ""
    says = f": {param.says}" if param is not None and param.says else ""
    return ToolExecutionError(
        INVALID_ARGUMENTS, f"Argument '{name}' of {tool.name} {problem}{got}", {"field": name}, f"Send '{name}'{says}"
    )


def _kind_of(raw: Raw) -> str:
    first = chr(memoryview(raw)[0])
    names = {"{": "an object", "[": "a list", '"': "a string", "t": "true", "f": "false", "n": "null"}
    return names.get(first, "a number")
