"""Prompts of servers, and completion of the arguments of prompts and resource templates.

The one rule: what a server answers is shown as it came; nothing of a prompt is interpreted.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from emceepee.meta_tools.answers import ToolExecutionError, answer
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.paging import PAGE_PARAMS
from emceepee.meta_tools.resources import list_handler
from emceepee.meta_tools.tool import Asked, Param, make_tool
from emceepee.vocabulary.outcomes import Done
from emceepee.vocabulary.raw_json import read_value, to_raw, write


async def _get_prompt(desk: Desk, asked: Asked) -> Done:
    params = {"name": to_raw(asked.arguments["name"])}
    given = asked.arguments.get("args")
    if given is not None:
        params["arguments"] = to_raw(_as_strings(given))
    payload = await desk.ask(asked, "prompts/get", params)
    return answer(dict(payload.fields()))


def _as_strings(given: Raw) -> dict[str, str]:
    """A prompt's arguments are strings; a number or a flag has only one spelling as one."""
    values: dict[str, Any] = read_value(given)
    return {name: value if isinstance(value, str) else write(value).decode() for name, value in values.items()}


async def _complete(desk: Desk, asked: Asked) -> Done:
    arguments = asked.arguments
    params = {
        "ref": to_raw(_reference(arguments)),
        "argument": to_raw({"name": arguments["argument"], "value": arguments.get("value", "")}),
    }
    if "context" in arguments:
        params["context"] = to_raw({"arguments": arguments["context"]})
    payload = await desk.ask(asked, "completion/complete", params)
    return answer(dict(payload.fields()))


def _reference(arguments: dict[str, Any]) -> dict[str, str]:
    prompt, template = arguments.get("prompt"), arguments.get("uri_template")
    if prompt is not None and template is None:
        return {"type": "ref/prompt", "name": prompt}
    if template is not None and prompt is None:
        return {"type": "ref/resource", "uri": template}
    raise ToolExecutionError(
        INVALID_ARGUMENTS,
        "complete takes either 'prompt' or 'uri_template'",
        {"field": "prompt"},
        "Send 'prompt' to complete a prompt's argument, 'uri_template' for one of a resource template.",
    )


TOOLS = (
    make_tool(
        "list_prompts",
        "Prompts of all servers or one. Then call get_prompt.",
        list_handler("prompts", "prompts"),
        {"server": Param("string"), **PAGE_PARAMS},
        reads_only=True,
    ),
    make_tool(
        "get_prompt",
        "One prompt of one server, filled in; list_prompts has the names.",
        _get_prompt,
        {
            "server": Param("string", required=True),
            "name": Param("string", required=True, aliases=("prompt",)),
            "args": Param("object", "the prompt's arguments", aliases=("arguments",)),
        },
        reads_only=True,
    ),
    make_tool(
        "complete",
        "Suggest values for an argument of a prompt or a resource template. Then get_prompt or read_resource.",
        _complete,
        {
            "server": Param("string", required=True),
            "prompt": Param("string", "its name; or give uri_template"),
            "uri_template": Param("string"),
            "argument": Param("string", "the argument's name", required=True),
            "value": Param("string", "what is typed so far"),
            "context": Param("string_map", "values of the other arguments"),
        },
        reads_only=True,
    ),
)
