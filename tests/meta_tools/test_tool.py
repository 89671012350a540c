"""How a tool is declared."""

from __future__ import annotations

from emceepee.meta_tools.answers import answer
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Asked, Param, camel_case, make_tool
from emceepee.vocabulary.outcomes import Done


async def _nothing(desk: Desk, asked: Asked) -> Done:
    return answer({})


def test_the_schema_comes_from_the_parameters() -> None:
    made = make_tool(
        "t",
        "Does it.",
        _nothing,
        {"a_b": Param("integer", "how many", required=True, least=1, most=9), "c": Param("string", among=("x", "y"))},
        reads_only=True,
    )
    assert made.entry() == {
        "name": "t",
        "description": "Does it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a_b": {"type": "integer", "description": "how many", "minimum": 1, "maximum": 9},
                "c": {"type": "string", "enum": ["x", "y"]},
            },
            "required": ["a_b"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": True},
    }


def test_a_parameter_is_taken_under_each_of_its_spellings() -> None:
    made = make_tool("t", "", _nothing, {"time_out_ms": Param("integer", aliases=("wait",))})
    own = {"time_out_ms": "time_out_ms", "timeOutMs": "time_out_ms", "wait": "time_out_ms"}
    assert made.names == own | {"workspace": "workspace"}


def test_every_tool_takes_a_workspace_and_shows_it_only_where_it_is_its_own() -> None:
    assert "workspace" not in make_tool("t", "", _nothing, {}).entry()["inputSchema"]["properties"]
    own = make_tool("t", "", _nothing, {"workspace": Param("string", required=True)})
    assert own.entry()["inputSchema"]["required"] == ["workspace"]


def test_camel_case_of_one_word_is_that_word() -> None:
    assert (camel_case("server"), camel_case("timeout_ms")) == ("server", "timeoutMs")
