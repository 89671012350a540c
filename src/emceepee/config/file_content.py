"""What one configuration file says: servers in any of three shapes, and the gateway's own settings.

The shapes are `mcpServers` (a map, as most programs have it), `servers` as a map (VS Code) and `servers` as a list with
names. Other root keys belong to other programs and are left alone, save when they look like a slip of the first.

The one rule: bytes in, values and problems out; the only outside thing is the reader of env files, which is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emceepee.backends.definition import ServerDefinition
from emceepee.config.entry import ReadText, read_entry
from emceepee.config.fields import a
from emceepee.config.gateway_settings import read_settings
from emceepee.config.jsonc import Node, read
from emceepee.config.problems import Problem, Report
from emceepee.vocabulary.names import server_name_problem

_MISSPELT = frozenset(("mcpserver", "mcpservers", "server", "servers"))
_ELSEWHERE = {"mcp": "VS Code's user settings and OpenCode", "context_servers": "Zed", "mcp_servers": "Codex"}


@dataclass(slots=True, frozen=True)
class Placed:
    """A server with the place of its entry, for mistakes that show only beside other files and settings."""

    definition: ServerDefinition
    line: int
    column: int
    where: str


@dataclass(slots=True, frozen=True)
class FileContent:
    """`readable` is false when the text itself is broken: then nothing of it may be used, whatever was understood."""

    servers: tuple[Placed, ...]
    settings: Mapping[str, Any]
    problems: tuple[Problem, ...]
    readable: bool
    settings_are_right: bool


@dataclass(slots=True, frozen=True)
class _Place:
    """One server's entry: its name, if it can have one, and where it stands."""

    name: str | None
    node: Node
    where: str


def read_file_content(data: bytes, file: str, environment: Mapping[str, str], read_text: ReadText) -> FileContent:
    document = read(data)
    report = Report(file, document)
    if document.root.kind != "object":
        if not document.mistakes:
            what = f"the configuration is {a(document.root.kind)} and has to be a map {{ … }}"
            report.error(document.root, "", what, 'write {"mcpServers": { … }}')
        return FileContent((), {}, tuple(report.problems), False, True)
    root = document.root.members
    before = report.errors
    settings = read_settings(root["emceepee"], "emceepee", report, environment) if "emceepee" in root else {}
    settings_are_right = report.errors == before
    _about_root(document.root, report)
    servers: list[Placed] = []
    seen: dict[str, str] = {}
    for place in _places(root, report):
        if place.name is not None and _name_is_free(place.name, place, seen, report):
            definition = read_entry(place.name, place.node, place.where, report, environment, read_text)
            if definition is not None:
                servers.append(Placed(definition, *document.place(place.node.key_offset), place.where))
    problems = tuple(sorted(report.problems, key=lambda problem: (problem.line, problem.column)))
    return FileContent(tuple(servers), settings, problems, not document.broken, settings_are_right)


def _about_root(root: Node, report: Report) -> None:
    for key, node in root.members.items():
        plain = re.sub(r"[-_ ]", "", key).lower()
        if plain in _MISSPELT and key not in ("mcpServers", "servers"):
            report.at_key(node, key, "this key is not read", "did you mean 'mcpServers'?")
        elif key in _ELSEWHERE and "mcpServers" not in root.members and "servers" not in root.members:
            what = f"this is how {_ELSEWHERE[key]} name their servers, and is not read"
            report.at_key(node, key, what, "move the entries under 'mcpServers'")
    if "inputs" in root.members and "servers" in root.members:
        what = "questions to the user are for editors and are ignored"
        report.at_key(root.members["inputs"], "inputs", what, "use ${NAME} and the environment", "note")
    bare = [key for key, node in root.members.items() if {"command", "url"} & node.members.keys() and key != "emceepee"]
    if bare and "mcpServers" not in root.members and "servers" not in root.members:
        report.at_key(root.members[bare[0]], bare[0], "a server at the root is not read", "put it inside 'mcpServers'")


def _places(root: Mapping[str, Node], report: Report) -> Iterator[_Place]:
    for key in ("mcpServers", "servers"):
        node = root.get(key)
        if node is None:
            continue
        if node.kind == "object":
            for name, member in node.members.items():
                yield _Place(name, member, f"{key}{_step(name)}")
        elif node.kind == "array" and key == "servers":
            for index, item in enumerate(node.items):
                yield _listed(item, f"{key}[{index}]", report)
        else:
            report.error(node, key, f"this has to be a map of names to servers, not {a(node.kind)}")


def _listed(item: Node, where: str, report: Report) -> _Place:
    if item.kind != "object":
        report.error(item, where, f"a server is an object, not {a(item.kind)}", 'write { "name": …, "url": … }')
        return _Place(None, item, where)
    name = item.members.get("name")
    if name is None or name.kind != "string":
        report.error(name or item, where, "the server has no name", 'add "name"; texts need quotes')
        return _Place(None, item, where)
    rest = {key: member for key, member in item.members.items() if key != "name"}
    return _Place(name.value, Node("object", rest, item.offset, item.offset), where)


def _name_is_free(name: str, place: _Place, seen: dict[str, str], report: Report) -> bool:
    if problem := server_name_problem(name):
        report.at_key(place.node, place.where, problem, f"for example '{_possible_name(name)}'")
        return False
    if name in seen:
        what = f"the name '{name}' is already used by {seen[name]}, which is kept"
        report.at_key(place.node, place.where, what, "rename or remove one", "note")
        return False
    seen[name] = place.where
    return True


def _possible_name(name: str) -> str:
    last = name.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9.]+", "-", last).strip("-.")[:40].rstrip("-.") or "files"


def _step(name: str) -> str:
    return f".{name}" if re.fullmatch(r"[\w-]+", name) else f'["{name[:60]}"]'
