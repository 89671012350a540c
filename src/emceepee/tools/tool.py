"""A Python function as a tool: its schema from its signature, its arguments from JSON, its result as content.

The one rule: the schema that clients see and the check of what they send come from the same types, so that they cannot
differ.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from emceepee.sampling.content import AudioContent, Content, ImageContent, Json, TextContent
from emceepee.tools.context import ToolContext
from emceepee.tools.faults import ToolError

Function: TypeAlias = Callable[..., Any]

_CONTENT = (TextContent, ImageContent, AudioContent)


@dataclasses.dataclass(slots=True, frozen=True)
class ToolResult:
    """For a tool that wants to say exactly what is answered."""

    content: tuple[Content, ...] = ()
    structured: Json | None = None
    is_error: bool = False


@dataclasses.dataclass(slots=True, frozen=True)
class LocalTool:
    name: str
    description: str
    function: Function
    arguments: type[msgspec.Struct]
    context_name: str | None
    output: type[Any] | None = None
    annotations: Json = dataclasses.field(default_factory=dict)

    def entry(self) -> Json:
        """As `tools/list` shows it."""
        entry: Json = {"name": self.name, "description": self.description, "inputSchema": _schema(self.arguments)}
        if self.output is not None:
            entry["outputSchema"] = _schema(self.output)
        return entry | ({"annotations": self.annotations} if self.annotations else {})

    async def call(self, given: Mapping[str, Any], context: ToolContext) -> Json:
        """The result of `tools/call`. What the function raises passes through, but for arguments that do not fit."""
        try:
            read = msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"The arguments of '{self.name}' do not fit: {_in_words(error)}") from None
        values = {name: getattr(read, name) for name in self.arguments.__struct_fields__}
        if self.context_name is not None:
            values[self.context_name] = context
        if inspect.iscoroutinefunction(self.function):
            return written(await self.function(**values))
        # It may take its time, and the gateway has other calls to carry.
        return written(await asyncio.to_thread(self.function, **values))


def make_tool(function: Function, name: str | None = None, description: str | None = None, **hints: bool) -> LocalTool:
    """Raises `TypeError` for a function whose arguments have no types or cannot come from JSON."""
    named = name or function.__name__
    types = typing.get_type_hints(function, include_extras=True)
    output = types.pop("return", None)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    context_name = None
    for parameter in inspect.signature(function).parameters.values():
        kind = types.get(parameter.name)
        if kind is ToolContext:
            context_name = parameter.name
        elif kind is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"'{named}': the argument '{parameter.name}' needs a name of its own and a type")
        elif parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, parameter.default))
    arguments = msgspec.defstruct(named, fields, kw_only=True, forbid_unknown_fields=True)
    says = description or inspect.getdoc(function) or named
    tool = LocalTool(named, says, function, arguments, context_name, output if _is_object(output) else None, {**hints})
    tool.entry()
    return tool


def written(value: Any) -> Json:
    """What a function returned, as a result: text, content, or an object, which is structured and text as well."""
    match value:
        case ToolResult():
            return _result(value.content, value.structured, value.is_error)
        case None:
            return _result(())
        case str():
            return _result((TextContent(value),))
        case TextContent() | ImageContent() | AudioContent():
            return _result((value,))
        case list() | tuple() if value and all(isinstance(one, _CONTENT) for one in value):
            return _result(tuple(value))
    plain = _plain(value)
    text = TextContent(msgspec.json.encode(plain).decode())
    return _result((text,), plain if isinstance(plain, dict) else None)


def _plain(value: Any) -> Any:
    """As JSON has it. A dataclass is read by its fields: one that came from JSON lacks in itself what is a default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    match value:
        case dict():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
    return msgspec.to_builtins(value)


def _result(content: tuple[Content, ...], structured: Json | None = None, is_error: bool = False) -> Json:
    said: Json = {"content": [block.to_json() for block in content]}
    said |= {} if structured is None else {"structuredContent": structured}
    return said | ({"isError": True} if is_error else {})


def _is_object(kind: Any) -> bool:
    if not isinstance(kind, type) or kind is ToolResult or issubclass(kind, _CONTENT):
        return False
    return dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct) or typing.is_typeddict(kind)


def _schema(kind: type[Any]) -> Json:
    (schema,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    own = dict(components.pop(name)) if name in components else dict(schema)
    own.pop("title", None)
    return own | ({"$defs": components} if components else {})


def _in_words(error: msgspec.ValidationError) -> str:
    said, _, path = str(error).partition(" - at `$")
    place = path.removeprefix(".").removesuffix("`")
    return f"'{place}': {said}" if place else said
