"""One server's entry in a configuration file, in any of the spellings that programs use, as a definition.

It does not know which file or map the entry stands in. Keys that nobody here knows are kept in `extras`, not refused:
they belong to other programs that read the same file.

The one rule: reading goes on after a mistake; an entry with an error gives no definition, and every one is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from emceepee.backends.definition import (
    CONNECT_TIMEOUT,
    Affinity,
    AskPolicy,
    Concurrency,
    HttpKind,
    Launch,
    ServerDefinition,
    StdioLaunch,
    http_endpoint,
    problems_with,
)
from emceepee.config.ask_rules import read_ask_policy, read_concurrency
from emceepee.config.env_file import read_env_file
from emceepee.config.fields import Fields, a
from emceepee.config.jsonc import Node
from emceepee.config.problems import Report

ReadText: TypeAlias = Callable[[str], str | None]
"""The text of a file beside the configuration, or None when it cannot be read."""

Kind: TypeAlias = Literal["stdio", "auto", "http", "sse"]

_KINDS: dict[str, Kind] = {
    "stdio": "stdio",
    "local": "stdio",
    "command": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "streamable": "http",
    "httpstream": "http",
    "sse": "sse",
    "remote": "auto",
    "url": "auto",
}

_URL_KEYS = ("url", "httpUrl", "serverUrl", "baseUrl")


def read_entry(
    name: str, node: Node, where: str, report: Report, environment: Mapping[str, str], read_text: ReadText
) -> ServerDefinition | None:
    """The definition, or None after its errors have been reported."""
    if node.kind != "object":
        cure = 'write { "command": … } or { "url": … }'
        report.error(node, where, f"a server is an object, not {a(node.kind)}", cure)
        return None
    errors_before = report.errors
    entry = Fields(node, where, report, environment)
    disabled = entry.lenient = _disabled(entry)
    launch = _launch(entry, read_text)
    own = _own_settings(entry)
    if launch is None or report.errors > errors_before:
        return None
    definition = ServerDefinition(
        name,
        launch,
        own.affinity,
        disabled,
        entry.rest(),
        own.connect_timeout,
        own.call_timeout,
        own.asks,
        own.concurrency,
        own.mark_calls,
        own.idle_stop,
    )
    problems = problems_with(definition)
    for field, what in problems:
        report.at_key(entry.seen.get(field, node), entry.path(field), what)
    return None if problems else definition


def _disabled(entry: Fields) -> bool:
    disabled_node, enabled_node = entry.take("disabled"), entry.take("enabled")
    disabled = entry.truth(disabled_node, "disabled")
    enabled = entry.truth(enabled_node, "enabled")
    if enabled_node and disabled is not None and disabled == enabled:
        entry.report.at_key(enabled_node, entry.path("enabled"), "contradicts 'disabled'", "keep one of the two")
    return bool(disabled) or enabled is False


def _launch(entry: Fields, read_text: ReadText) -> Launch | None:
    command = entry.take("command")
    url = entry.take(*_URL_KEYS)
    kind = _kind(entry)
    if command is not None and url is not None:
        what = "has both a command and a URL, and is one or the other"
        entry.wrong(entry.node, "", what, "remove one; two servers need two names")
        return None
    if command is None and url is None:
        cure = {"stdio": 'add "command"', None: 'add "command" or "url"'}.get(kind, 'add "url"')
        entry.wrong(entry.node, "", "has neither a command nor a URL", cure)
        return None
    if command is not None:
        if kind not in (None, "stdio"):
            entry.wrong(command, "type", "says that there is a URL, but a command is given", "remove the type")
        return _stdio(entry, command, read_text)
    if url is None or kind == "stdio":
        entry.wrong(url or entry.node, "type", "says stdio, but a URL is given", "remove the type, or give a command")
        return None
    return _endpoint(entry, url, kind or "auto")


def _kind(entry: Fields) -> Kind | None:
    node = entry.take("type", "transport", "transportType")
    spelled = entry.text(node, "type")
    if node is None or spelled is None:
        return None
    kind = _KINDS.get(re.sub(r"[-_ ]", "", spelled).lower())
    if kind is None:
        known = "stdio, http (also streamable-http) and sse"
        entry.wrong(node, "type", f"there is no transport '{spelled[:30]}'", f"the transports are {known}")
    return kind


def _endpoint(entry: Fields, url: Node, kind: HttpKind) -> Launch | None:
    address = entry.text(url, "url")
    headers = entry.table(entry.take("headers"), "headers")
    return None if address is None else http_endpoint(address, tuple(headers.items()), kind)


def _stdio(entry: Fields, command: Node, read_text: ReadText) -> Launch | None:
    words = _command(entry, command)
    args = entry.texts(entry.take("args"), "args")
    env = entry.table(entry.take("env", "environment"), "env")
    cwd = entry.text(entry.take("cwd"), "cwd")
    from_file = _env_file(entry, read_text)
    return StdioLaunch(words[0], (*words[1:], *args), {**from_file, **env}, cwd) if words else None


def _command(entry: Fields, node: Node) -> list[str]:
    """The command alone, or with its first arguments where it is written as a list."""
    if node.kind == "array":
        words = entry.texts(node, "command")
        if not words:
            entry.wrong(node, "command", "the command is empty")
        return words
    command = entry.text(node, "command")
    if command and re.match(r"[\w.-]+\s+\S|\S+\s+--?\w", command):
        cure = 'write the program under "command" and the rest under "args", one text each'
        what = "looks like a program with arguments; it is started as one name"
        entry.report.note(node, entry.path("command"), what, cure)
    return [] if command is None else [command]


def _env_file(entry: Fields, read_text: ReadText) -> dict[str, str]:
    node = entry.take("envFile")
    path = entry.text(node, "envFile")
    if node is None or path is None:
        return {}
    text = read_text(path)
    if text is None:
        cure = "check its path; it counts from the configuration file"
        entry.missing(node, "envFile", "the file cannot be read", cure)
        return {}
    variables, strange = read_env_file(text)
    if strange:
        lines = ", ".join(map(str, strange[:5]))
        entry.report.note(node, entry.path("envFile"), f"lines without NAME=value are skipped: {lines}")
    return variables


@dataclass(slots=True, frozen=True)
class _Own:
    affinity: Affinity
    connect_timeout: float
    call_timeout: float | None
    asks: AskPolicy
    concurrency: Concurrency
    mark_calls: bool
    idle_stop: float | None


def _own_settings(entry: Fields) -> _Own:
    """What only emceepee knows, under its own key or beside the rest, and the time limit that others call `timeout`."""
    own = entry.take("emceepee")
    if own is not None and own.kind != "object":
        entry.wrong(own, "emceepee", f"this has to be an object, not {a(own.kind)}")
        own = None
    node = entry.take("timeout")
    general = entry.number(node, "timeout")
    inner = Fields(own or Node("object", {}, 0), entry.path("emceepee"), entry.report, entry.environment)
    affinity = _affinity(inner, inner.take("affinity")) or _affinity(entry, entry.take("affinity")) or "workspace"
    connect = inner.number(inner.take("connect_timeout", "connectTimeout"), "connect_timeout")
    call = inner.number(inner.take("call_timeout", "callTimeout"), "call_timeout")
    entry.seen |= {"connect_timeout": inner.seen.get("connect_timeout", entry.node)}
    entry.spelled |= {"connect_timeout": "emceepee.connect_timeout"}
    if call is not None:
        entry.seen |= {"timeout": inner.seen["call_timeout"]}
        entry.spelled |= {"timeout": "emceepee.call_timeout"}
    asks, concurrency = read_ask_policy(inner), read_concurrency(inner)
    marks = bool(inner.truth(inner.take("mark_calls", "markCalls"), "mark_calls"))
    idle = inner.number(inner.take("idle_stop", "idleStop"), "idle_stop")
    entry.seen |= {"idle_stop": inner.seen.get("idle_stop", entry.node)}
    entry.spelled |= {"idle_stop": "emceepee.idle_stop"}
    for unknown in inner.rest():
        cure = "there is affinity, connect_timeout, call_timeout, idle_stop, asks, ambiguous, concurrency, mark_calls"
        inner.report.at_key(inner.node.members[unknown], inner.path(unknown), "there is no such setting", cure)
    connect = CONNECT_TIMEOUT if connect is None else connect
    limit = call if call is not None else _seconds(entry, node, general)
    return _Own(affinity, connect, limit, asks, concurrency, marks, idle)


def _affinity(entry: Fields, node: Node | None) -> Affinity | None:
    if node is None:
        return None
    match entry.text(node, "affinity"):
        case "workspace":
            return "workspace"
        case "principal":
            return "principal"
        case "call":
            return "call"
        case "shared":
            return "shared"
        case _:
            entry.wrong(node, "affinity", "this has to be 'workspace', 'principal', 'call' or 'shared'")
            return None


def _seconds(entry: Fields, node: Node | None, number: float | None) -> float | None:
    """Some programs write `timeout` in seconds, some in milliseconds; nobody means 1000 seconds or 999 milliseconds."""
    if node is None or number is None or number < 1000:
        return number
    cure = 'write it as "emceepee": {"call_timeout": seconds} to be sure'
    entry.report.note(node, entry.path("timeout"), f"is taken as milliseconds, so {number / 1000:g} s", cure)
    return number / 1000
