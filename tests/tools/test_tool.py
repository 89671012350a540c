"""Functions as tools: schemas from signatures, and what each kind of return becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

from emceepee.tools import ImageContent, TextContent, ToolContext, ToolResult
from emceepee.tools.context import Log
from emceepee.tools.faults import ToolError
from emceepee.tools.tool import make_tool, written

CONTEXT = ToolContext("s", Log(lambda level, data: None))


@dataclass
class Note:
    pitch: int
    beats: float = 1.0


@dataclass
class Clip:
    name: str
    notes: list[Note]


def compose(
    ctx: ToolContext,
    name: Annotated[str, msgspec.Meta(description="Its name", max_length=10)],
    key: Literal["major", "minor"] = "major",
    notes: list[Note] | None = None,
) -> Clip:
    """Makes a clip."""
    return Clip(name, notes or [])


def test_the_schema_comes_from_the_signature() -> None:
    entry = make_tool(compose, readOnlyHint=True).entry()
    assert (entry["name"], entry["description"]) == ("compose", "Makes a clip.")
    schema = entry["inputSchema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    assert schema["properties"]["name"] == {"description": "Its name", "type": "string", "maxLength": 10}
    assert schema["properties"]["key"] == {"enum": ["major", "minor"], "default": "major"}
    assert "ctx" not in schema["properties"]
    assert schema["$defs"]["Note"]["required"] == ["pitch"]
    assert entry["outputSchema"]["required"] == ["name", "notes"]
    assert entry["annotations"] == {"readOnlyHint": True}


async def test_arguments_become_what_the_function_takes() -> None:
    result = await make_tool(compose).call({"name": "a", "notes": [{"pitch": 60}]}, CONTEXT)
    assert result["structuredContent"] == {"name": "a", "notes": [{"pitch": 60, "beats": 1.0}]}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "missing required field `name`"),
        ({"name": "much too long"}, "'name': Expected `str` of length <= 10"),
        ({"name": "a", "key": "blue"}, "'key': Invalid enum value 'blue'"),
        ({"name": "a", "notes": [{"pitch": "c"}]}, "'notes[0].pitch': Expected `int`"),
        ({"name": "a", "tempo": 1}, "unknown field `tempo`"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(given: Any, says: str) -> None:
    with pytest.raises(ToolError) as raised:
        await make_tool(compose).call(given, CONTEXT)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, {"content": []}),
        ("a", {"content": [{"type": "text", "text": "a"}]}),
        (TextContent("a"), {"content": [{"type": "text", "text": "a"}]}),
        (
            [TextContent("a"), ImageContent("AA==", "image/png")],
            {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]},
        ),
        ({"a": 1}, {"content": [{"type": "text", "text": '{"a":1}'}], "structuredContent": {"a": 1}}),
        ([1, 2], {"content": [{"type": "text", "text": "[1,2]"}]}),
        (
            ToolResult((TextContent("no"),), {"a": 1}, is_error=True),
            {"content": [{"type": "text", "text": "no"}], "structuredContent": {"a": 1}, "isError": True},
        ),
    ],
)
def test_each_return_becomes_a_result(value: Any, result: Any) -> None:
    assert written(value) == result


async def test_a_plain_function_does_not_hold_up_the_loop() -> None:
    import threading

    here = threading.current_thread()

    def slow() -> str:
        return str(threading.current_thread() is here)

    result = await make_tool(slow).call({}, CONTEXT)
    assert result["content"][0]["text"] == "False"


def test_a_function_without_types_is_a_mistake_of_the_program() -> None:
    def untyped(a) -> str:  # type: ignore[no-untyped-def]
        return str(a)

    def many(*a: int) -> str:
        return str(a)

    for wrong in (untyped, many):
        with pytest.raises(TypeError, match="the argument 'a'"):
            make_tool(wrong)
