"""All of our tools on one screen, in the order in which clients see them.

The one rule: this list depends on nothing: not on the servers there are, the client, or the time (A-TOOL-01).
"""

from __future__ import annotations

from emceepee.meta_tools import activity, buffers, execution, prompts, resources, servers, tasks, tools
from emceepee.meta_tools.tool import Tool
from emceepee.vocabulary.raw_json import to_raw, write

TABLE: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        *servers.TOOLS,
        *tools.TOOLS,
        *execution.TOOLS,
        *resources.TOOLS,
        *prompts.TOOLS,
        *buffers.TOOLS,
        *tasks.TOOLS,
        *activity.TOOLS,
    )
}

LIST_PAYLOAD = write({"tools": [tool.entry() for tool in TABLE.values()]})
INPUT_SCHEMAS = {name: to_raw(tool.entry()["inputSchema"]) for name, tool in TABLE.items()}
