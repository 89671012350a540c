"""Whether the use of tools in a request holds together (revision 2025-11-25): offers, calls, and their results. Pure.

The one rule: each call of a tool is answered in the very next message, which then holds nothing else; model providers
refuse anything else, and say so much less clearly.
"""

from __future__ import annotations

from typing import Any

from emceepee.sampling.problem import Problem, Problems, optional, wrong_kind

MODES = ("auto", "required", "none")


def offer_problems(params: dict[str, Any]) -> Problems:
    """Of `tools` and `toolChoice`."""
    tools = params.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield wrong_kind("tools", tools, "a list of tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        yield from _tool_problems(tool, f"tools[{index}]")
    choice = params.get("toolChoice")
    if choice is not None and not isinstance(choice, dict):
        yield wrong_kind("toolChoice", choice, "an object")
    elif choice is not None and choice.get("mode") not in (None, *MODES):
        yield wrong_kind("toolChoice.mode", choice["mode"], f"one of {', '.join(MODES)}")


def _tool_problems(tool: Any, where: str) -> Problems:
    if not isinstance(tool, dict):
        yield wrong_kind(where, tool, "a tool")
        return
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        yield wrong_kind(f"{where}.name", tool.get("name"), "a string")
    if not isinstance(tool.get("inputSchema"), dict):
        yield wrong_kind(f"{where}.inputSchema", tool.get("inputSchema"), "an object")
    for key in ("title", "description"):
        yield from optional(tool, key, str, "a string", where)
    for key in ("outputSchema", "annotations", "_meta"):
        yield from optional(tool, key, dict, "an object", where)


def order_problems(messages: list[dict[str, Any]]) -> Problems:
    """Of calls and results across messages, each of which is right by itself."""
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        where = f"messages[{index}].content"
        calls, results, others = _sorted(message["content"])
        if calls and message["role"] != "assistant":
            yield Problem(where, "tool_use", "tool_use by the assistant only", "Only the assistant can use tools")
        if results and message["role"] != "user":
            yield Problem(where, "tool_result", "tool_result by the user only", "Only the user can give tool results")
        if results and (others or calls):
            yield Problem(
                where, "tool_result", "tool results alone", "Tool results must not be mixed with other content"
            )
        if open_calls != results:
            odd = min(open_calls ^ results)
            expected = "one tool_result for each tool_use of the message before"
            missing = odd in open_calls
            says = f"Tool use '{odd:.40}' has no result" if missing else f"No tool use '{odd:.40}' for this result"
            yield Problem(where, odd, expected, says)
        open_calls = calls
    if open_calls:
        odd = min(open_calls)
        expected = "one tool_result for each tool_use of the message before"
        yield Problem(f"messages[{len(messages)}]", odd, expected, f"Tool use '{odd:.40}' has no result")


def _sorted(content: Any) -> tuple[set[str], set[str], int]:
    """Ids of calls, ids of results, and how much else there is."""
    calls, results, others = set(), set(), 0
    for block in content if isinstance(content, list) else [content]:
        match block:
            case {"type": "tool_use", "id": name}:
                calls.add(name)
            case {"type": "tool_result", "toolUseId": name}:
                results.add(name)
            case _:
                others += 1
    return calls, results, others
