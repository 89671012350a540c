"""Tool arguments mirrored in headers (`x-mcp-header`): which ones, written, and checked.

Not here: the routing headers that every request has. The one rule: a schema is walked once, when it is compiled into a
`HeaderMap`; calls only follow the paths found then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from msgspec import Raw

from emceepee.eras.modern.envelope import Headers
from emceepee.eras.modern.header_values import decode_value, encode_value
from emceepee.eras.peek import is_array, is_null, is_object, is_text, may_mention
from emceepee.eras.refusal import Refusal, mismatch
from emceepee.eras.schemas import Path, positions
from emceepee.protocol.messages import RequestId
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text, read_value

ANNOTATION = "x-mcp-header"
PREFIX = "Mcp-Param-"

_MENTION = b'"x-mcp-header"'
_TYPES = frozenset(("string", "integer", "boolean"))
_token = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_whole = re.compile(r"-?[0-9]+")
_decimal = re.compile(r"(-?[0-9]+)(?:\.([0-9]+))?")


@dataclass(slots=True, frozen=True)
class HeaderParam:
    """One mirrored argument."""

    path: Path
    header: str
    integer: bool

    @property
    def key(self) -> str:
        return self.header.lower()

    @property
    def argument(self) -> str:
        return ".".join(self.path)


@dataclass(slots=True, frozen=True)
class HeaderMap:
    """The mirrored arguments of one tool, compiled from its input schema."""

    params: tuple[HeaderParam, ...] = ()

    def headers(self, arguments: Raw | None) -> Iterator[tuple[str, str]]:
        """The headers of a call with these arguments."""
        for param in self.params:
            value = _at(arguments, param.path)
            text = _rendered(value)
            if text is not None:
                whole = _whole_number(value, text) if param.integer else None
                yield param.header, encode_value(text if whole is None else str(whole))


@dataclass(slots=True, frozen=True)
class Invalid:
    """A schema whose annotations break the rules; the tool must not be offered over HTTP."""

    reason: str = field(default="")


NO_HEADERS = HeaderMap()


def compile_header_map(schema: Raw | None) -> HeaderMap | Invalid:
    """Walks the schema. One without annotations, or that is no object, maps nothing."""
    if schema is None or not may_mention(bytes(schema), _MENTION):
        return NO_HEADERS
    return _compiled(bytes(schema))


@lru_cache(maxsize=256)
def _compiled(schema: bytes) -> HeaderMap | Invalid:
    try:
        root = read_value(schema)
    except NotThatShape as error:
        return Invalid(f"the schema is not JSON: {error}")
    found: dict[str, HeaderParam] = {}
    for path, position in positions(root):
        if ANNOTATION not in position:
            continue
        problem = _problem(path, position)
        if problem is not None or path is None:
            return Invalid(problem or "")
        param = HeaderParam(path, PREFIX + position[ANNOTATION], position["type"] == "integer")
        if param.key in found:
            return Invalid(f"'{param.argument}' and '{found[param.key].argument}' share one {ANNOTATION}")
        found[param.key] = param
    return HeaderMap(tuple(found.values())) if found else NO_HEADERS


def _problem(path: Path | None, position: dict[str, Any]) -> str | None:
    if not path:
        return f"{ANNOTATION} stands where no chain of properties leads"
    name, kind = position[ANNOTATION], position.get("type")
    if not isinstance(name, str) or not _token.fullmatch(name):
        return f"{ANNOTATION} of '{'.'.join(path)}' is not a header token"
    if not isinstance(kind, str) or kind not in _TYPES:
        return f"{ANNOTATION} of '{'.'.join(path)}' is on something other than a string, integer or boolean"
    return None


def check_header_params(
    arguments: Raw | None, schema: Raw | HeaderMap | None, headers: Headers | None, request_id: RequestId | None = None
) -> Refusal | None:
    """Each mirrored argument and its header are there together and equal, or absent together. A schema with invalid
    annotations checks nothing: no client sends headers for such a tool."""
    compiled = schema if isinstance(schema, HeaderMap) else compile_header_map(schema)
    if headers is None or isinstance(compiled, Invalid):
        return None
    for param in compiled.params:
        wrong = _wrong(param, _at(arguments, param.path), headers.get(param.key, ()))
        if wrong is not None:
            return mismatch(f"{param.header} header {wrong}", request_id)
    return None


def _wrong(param: HeaderParam, value: Raw | None, sent: Any) -> str | None:
    if len(sent) > 1:
        return "appears more than once"
    text = _rendered(value)
    if text is None:
        # nothing that a client could have mirrored: whoever routed by such a header was lied to
        return f"is present but the argument '{param.argument}' is absent" if sent else None
    if not sent:
        return f"is missing but the argument '{param.argument}' is present"
    decoded = decode_value(sent[0])
    if decoded is None:
        return "carries a malformed base64 value"
    whole = _whole_number(value, text) if param.integer else None
    if decoded != text and (whole is None or not _is_number(decoded, whole)):
        return f"does not match the argument '{param.argument}'"
    return None


def _at(arguments: Raw | None, path: Path) -> Raw | None:
    node = arguments
    for key in path:
        if node is None or not is_object(node):
            return None
        node = read_fields(node).get(key)
    return node


def _rendered(value: Raw | None) -> str | None:
    """The text that mirrors a value, or None for one that is absent or cannot be mirrored."""
    if value is None or is_null(value) or is_object(value) or is_array(value):
        return None
    if is_text(value):
        return read_text(value)
    literal = bytes(value).decode()
    if literal in ("true", "false"):
        return literal
    try:
        return str(int(literal)) if _whole.fullmatch(literal) else str(float(literal))
    except ValueError:
        return None  # more digits than Python will turn into a number


def _whole_number(value: Raw | None, text: str) -> int | None:
    """The whole number that a value is, however it was written: other languages have no 42.0 and no 1e+16."""
    if value is None or is_text(value) or text in ("true", "false"):
        return None
    if _whole.fullmatch(text):
        return int(text)
    number = float(text)
    return int(number) if number.is_integer() else None


def _is_number(header: str, number: int) -> bool:
    """Compared by value: 42, 42.0 and 042 are one; written out only, 4.2e1 is none of them."""
    found = _decimal.fullmatch(header)
    if found is None or (found[2] or "").strip("0"):
        return False
    try:
        return int(found[1]) == number
    except ValueError:
        return False
