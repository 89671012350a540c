"""`emceepee tools` and `emceepee call`: a client of one server, for one question.

It reaches the server as the gateway would, so that what works here works there. The one rule: with `--json` standard
output holds one JSON object, also when the answer is an error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from emceepee import __version__
from emceepee.backends.connection import Connection
from emceepee.backends.definition import ServerDefinition
from emceepee.cli.printing import one_line, plain, print_json, table
from emceepee.cli.running import run
from emceepee.cli.target import NAME, find_target
from emceepee.errors import BackendFault, EmceepeeError, OperatorFault
from emceepee.observability import log_lines
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LOCAL
from emceepee.vocabulary.notices import LogLine, Notice, Progress
from emceepee.vocabulary.outcomes import Done, Failed, failed, settled
from emceepee.vocabulary.raw_json import EMPTY_OBJECT, Fields, read_items, read_text, read_value, to_raw

MAX_PAGES = 1000

_CALLER = Caller(client_info=to_raw({"name": "emceepee-cli", "version": __version__}))


def talk(options: argparse.Namespace) -> int:
    word, tool = _words(options)
    log_lines.start(options.log_level or "error", "auto")
    definition: ServerDefinition | None = None
    try:
        arguments = read_arguments(options.arg) if tool is not None else {}
        definition = find_target(word, options.launch, options.header, options.env, options.config or [], options.wait)
        return run(_talk(definition, tool, arguments, options))
    except EmceepeeError as error:
        message = fault_text(error, definition)
        if options.json:
            print_json({"error": {"message": message, "reason": getattr(error, "reason", "failed")}})
        raise OperatorFault(message) from error


def fault_text(error: EmceepeeError, definition: ServerDefinition | None) -> str:
    """The error with what was typed in the place of a name that nobody gave."""
    if not isinstance(error, BackendFault) or definition is None or definition.name != NAME:
        return str(error)
    said = f"{definition.address}: {error.detail}".replace(f"Server '{NAME}': ", "")
    if "HTTP 404" in said and urlsplit(definition.address).path in ("", "/"):
        said += f"; did you mean {definition.address.rstrip('/')}/mcp?"
    return said


def _words(options: argparse.Namespace) -> tuple[str | None, str | None]:
    """The target, unless it is a command after `--`, and the tool of a call. Ends the process with 2 for others."""
    words: list[str] = list(options.words)
    wanted = (options.launch is None) + (options.command == "call")
    if len(words) != wanted:
        needed = {"tools": "TARGET", "call": "TARGET TOOL"}[options.command]
        if options.launch is not None:
            needed = needed.replace("TARGET", "").strip() or "nothing"
        options.usage_error(f"it takes {needed} here, and got {' '.join(words) or 'nothing'}")
    tool = words.pop() if options.command == "call" else None
    return (words[0] if words else None), tool


def read_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """Arguments as they were typed: `name=value`, where a value that reads as JSON is that; or whole objects."""
    arguments: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            value = _json(text)
            if not isinstance(value, dict):
                raise OperatorFault("--arg {…}: this is not a JSON object")
            arguments |= value
            continue
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OperatorFault(f"--arg {text}: write NAME=VALUE, or one JSON object")
        read = _json(value)
        arguments[name] = value if read is msgspec.UNSET else read
    return arguments


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return msgspec.UNSET


async def _talk(
    definition: ServerDefinition, tool: str | None, arguments: dict[str, Any], options: argparse.Namespace
) -> int:
    from emceepee.app import open_backends

    async with open_backends([definition], os.environ) as pool:
        connection = await pool.connection(definition.name, LOCAL)
        if tool is None:
            tools = await every_tool(connection, options.wait)
            return _print_tools(tools, options.json)
        on_notice = None if options.json else _tell
        params: Fields = {"name": to_raw(tool), "arguments": to_raw(arguments)}
        call = Call("tools/call", params, _CALLER, wants_progress=on_notice is not None)
        match await connection.request(call, on_notice, options.wait):
            case Done(payload=payload):
                return _print_result(payload.raw(), payload.fields(), options.json)
            case answered:
                return _print_failure(failed(answered), options.json)


async def every_tool(connection: Connection, wait: float) -> list[Raw]:
    """All pages of the list. Raises `OperatorFault` when the server does not list or never comes to an end."""
    tools: list[Raw] = []
    cursor: Raw | None = None
    for _ in range(MAX_PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        outcome = settled(await connection.request(Call("tools/list", params, _CALLER), None, wait))
        if isinstance(outcome, Failed):
            raise OperatorFault(f"the server does not list its tools: {plain(outcome.message)} ({outcome.code})")
        fields = outcome.payload.fields()
        tools += read_items(fields.get("tools", Raw(b"[]")))
        cursor = fields.get("nextCursor")
        if read_text(cursor) is None:
            return tools
    raise OperatorFault(f"the server's list of tools has more than {MAX_PAGES} pages")


def _print_tools(tools: list[Raw], as_json: bool) -> int:
    if as_json:
        print_json({"tools": tools})
        return 0
    rows = []
    for raw in tools:
        tool = read_value(raw)
        if isinstance(tool, dict):
            rows.append((str(tool.get("name", "")), _parameters(tool), str(tool.get("description") or "")))
    print(table(("TOOL", "ARGUMENTS", "WHAT IT DOES"), rows) if rows else "The server has no tools.")
    return 0


def _parameters(tool: dict[str, Any]) -> str:
    """`path, head?`: what may be left out has a question mark."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not isinstance(schema, dict):
        return ""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return ", ".join(name if name in needed else f"{name}?" for name in properties)


def _print_result(raw: Raw, fields: Fields, as_json: bool) -> int:
    failed = fields.get("isError") is not None and read_value(fields["isError"]) is True
    if as_json:
        print_json(raw)
        return 1 if failed else 0
    blocks = [read_value(block) for block in read_items(fields.get("content", Raw(b"[]")))]
    texts = [_block(block) for block in blocks if isinstance(block, dict)]
    if not texts and "structuredContent" in fields:
        texts = [msgspec.json.format(bytes(fields["structuredContent"]), indent=2).decode()]
    print("\n".join(texts), file=sys.stderr if failed else sys.stdout)
    return 1 if failed else 0


def _block(block: dict[str, Any]) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return plain(text)
        case {"type": "resource", "resource": {"text": str(text)}}:
            return plain(text)
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[link to {one_line(uri)}]"
        case {"type": str(kind), "mimeType": str(mime), "data": str(data)}:
            return f"[{one_line(kind)}, {one_line(mime)}, {len(data) * 3 // 4} bytes; --json shows it]"
        case _:
            return f"[{one_line(str(block.get('type', 'something')))}; --json shows it]"


def _print_failure(failed: Failed, as_json: bool) -> int:
    if as_json:
        error: dict[str, Any] = {"code": failed.code, "message": failed.message}
        print_json({"error": error | ({"data": failed.data} if failed.data is not None else {})})
    else:
        print(f"emceepee: the server answered: {plain(failed.message)} ({failed.code})", file=sys.stderr)
    return 1


def _tell(notice: Notice) -> None:
    """Progress and log lines of the call, for whoever waits."""
    match notice:
        case Progress(progress=progress, params=params):
            said = read_text(params.get("message")) or ""
            total = params.get("total", EMPTY_OBJECT)
            of = f" of {bytes(total).decode()}" if total is not EMPTY_OBJECT else ""
            print(f"… {progress:g}{of}{': ' if said else ''}{one_line(said)}", file=sys.stderr)
        case LogLine(level=level, params=params):
            said = bytes(params.get("data", Raw(b"null"))).decode("utf-8", "replace")
            print(f"{level}: {one_line(read_text(params.get('data')) or said)}", file=sys.stderr)
        case _:
            pass
