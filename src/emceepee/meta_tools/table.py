"""All of our tools on one screen, in the order in which clients see them, and the two lists that can be offered.

The one rule: a list depends on nothing but the profile, which is chosen at start-up: not on the servers there are, the
client, or the time (A-TOOL-01).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Raw

from emceepee.meta_tools import (
    activity,
    buffers,
    elicitation,
    execution,
    prompts,
    reconnect,
    resources,
    roots,
    sample_llm,
    sampling,
    servers,
    subscriptions,
    tasks,
    tools,
    workspaces,
)
from emceepee.meta_tools.tool import Tool
from emceepee.relay.settings import Profile
from emceepee.vocabulary.raw_json import to_raw, write

TABLE: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        *servers.TOOLS,
        *reconnect.TOOLS,
        *tools.TOOLS,
        *execution.TOOLS,
        *resources.TOOLS,
        *subscriptions.TOOLS,
        *prompts.TOOLS,
        *buffers.TOOLS,
        *sampling.TOOLS,
        *sample_llm.TOOLS,
        *elicitation.TOOLS,
        *roots.TOOLS,
        *tasks.TOOLS,
        *activity.TOOLS,
        *workspaces.TOOLS,
    )
}


@dataclass(slots=True, frozen=True)
class Offer:
    """The tools that clients see and may call; `payload` is the result of `tools/list`."""

    tools: Mapping[str, Tool]
    payload: bytes
    schemas: Mapping[str, Raw]


def _offer(tools: Mapping[str, Tool]) -> Offer:
    entries = {name: tool.entry() for name, tool in tools.items()}
    schemas = {name: to_raw(entry["inputSchema"]) for name, entry in entries.items()}
    return Offer(tools, write({"tools": list(entries.values())}), schemas)


OFFERS: dict[Profile, Offer] = {
    "full": _offer(TABLE),
    "core": _offer({name: tool for name, tool in TABLE.items() if tool.core}),
}
