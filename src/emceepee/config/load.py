"""The one place that looks for configuration files and reads them.

Which file: those given; else `EMCEEPEE_CONFIG`; else `mcp.json` or `.mcp.json` of the current folder; else
`emceepee/config.json` of the user's configuration folder; else a built-in one with a demonstration server.

The one rule: a broken entry costs its server, a broken text costs its file, and neither is silent: `Loaded.problems`
has all of them, and `Loaded.fatal` says whether a gateway may start at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from emceepee.backends.definition import CONNECT_TIMEOUT, InProcess, ServerDefinition
from emceepee.config.file_content import FileContent, read_file_content
from emceepee.config.gateway_settings import build_settings
from emceepee.config.problems import Problem
from emceepee.config.settings import DEFAULTS, Settings

DEMO = ServerDefinition("demo", InProcess("demo"))
"""What is there when nothing is configured, so that the first call works before the first file is written."""


@dataclass(slots=True, frozen=True)
class Loaded:
    settings: Settings = DEFAULTS
    definitions: tuple[ServerDefinition, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    fatal: bool = False

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")


def load(given: Sequence[str], environment: Mapping[str, str], folder: Path) -> Loaded:
    """Everything, by the lookup above. Never raises for what a file says or for a file that cannot be read."""
    files = find_files(given, environment, folder)
    if not files:
        return Loaded(definitions=(DEMO,))
    return merge([(str(file), _read(file, environment)) for file in files])


def find_files(given: Sequence[str], environment: Mapping[str, str], folder: Path) -> list[Path]:
    """The files to read, in order; files that were named are among them even when they do not exist."""
    named = list(given) or [environment["EMCEEPEE_CONFIG"]] * bool(environment.get("EMCEEPEE_CONFIG"))
    if named:
        return [Path(name).expanduser() for name in named]
    candidates = [folder / "mcp.json", folder / ".mcp.json", *_user_files(environment)]
    return [candidate for candidate in candidates if candidate.is_file()][:1]


def _user_files(environment: Mapping[str, str]) -> list[Path]:
    if base := environment.get("XDG_CONFIG_HOME") or environment.get("APPDATA"):
        return [Path(base) / "emceepee" / "config.json"]
    home = environment.get("HOME")
    return [Path(home) / ".config" / "emceepee" / "config.json"] if home else []


def merge(contents: Sequence[tuple[str, FileContent]]) -> Loaded:
    """Several files as one: the first to name a server, or to give a setting, wins."""
    servers: dict[str, tuple[str, ServerDefinition]] = {}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for file, content in contents:
        problems += content.problems
        if not content.readable:
            continue
        values = {**content.settings, **values}
        for definition in content.servers:
            first, winner = servers.setdefault(definition.name, (file, definition))
            if winner is not definition:
                what = f"the server '{definition.name}' is already in {first}, which is kept"
                problems.append(Problem(file, 1, 1, "", what, "rename or remove one", "note"))
    fatal = any(not content.readable or not content.settings_are_right for _, content in contents)
    definitions = tuple(definition for _, definition in servers.values())
    settings = build_settings(values)
    problems += _too_many(contents, settings, len(definitions))
    files = tuple(file for file, _ in contents)
    kept = tuple(_with_connect_limit(definition, settings) for definition in definitions[: settings.limits.max_servers])
    return Loaded(settings, kept, tuple(problems), files, fatal)


def _too_many(contents: Sequence[tuple[str, FileContent]], settings: Settings, count: int) -> list[Problem]:
    limit = settings.limits.max_servers
    if count <= limit:
        return []
    what = f"there are {count} servers and the limit is {limit}; the last {count - limit} are left out"
    return [Problem(contents[-1][0], 1, 1, "", what, 'raise "emceepee": {"limits": {"max_servers": …}}')]


def _with_connect_limit(definition: ServerDefinition, settings: Settings) -> ServerDefinition:
    """The gateway's connect limit, for a server that has none of its own."""
    if definition.connect_timeout != CONNECT_TIMEOUT:
        return definition
    return replace(definition, connect_timeout=settings.timeouts.connect)


def _read(file: Path, environment: Mapping[str, str]) -> FileContent:
    def beside(path: str) -> str | None:
        try:
            return (file.parent / Path(path).expanduser()).read_text("utf-8", "replace")
        except (OSError, ValueError):
            return None

    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        problem = Problem(str(file), 1, 1, "", f"the file cannot be read: {reason}", "check --config, EMCEEPEE_CONFIG")
        return FileContent((), {}, (problem,), False, True)
    return read_file_content(data, str(file), environment, beside)
