"""The one place that looks for configuration files and reads them.

Which file: those given; else `EMCEEPEE_CONFIG`; else `mcp.json` or `.mcp.json` of the current folder; else
`emceepee/config.json` of the user's configuration folder; else a built-in one with a demonstration server.

The one rule: a broken entry costs its server, a broken text costs its file, and neither is silent: `Loaded.problems`
has all of them, and `Loaded.fatal` says whether a gateway may start at all.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from emceepee.backends.definition import CONNECT_TIMEOUT, HttpEndpoint, InProcess, ServerDefinition, StdioLaunch
from emceepee.backends.own_address import OwnAddresses
from emceepee.config.file_content import FileContent, Placed, read_file_content
from emceepee.config.gateway_settings import build_settings
from emceepee.config.problems import Problem, Severity
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


@dataclass(slots=True, frozen=True)
class Source:
    """Where a configuration is read from, again and again: the arguments of `load`."""

    given: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    said: Mapping[str, Any] = field(default_factory=dict)
    listens: bool = False

    def read(self) -> Loaded:
        return load(self.given, self.environment, self.folder, self.said, self.listens)

    def stamp(self) -> object:
        """Another value when the files may say something else: which they are, when each was written, how long it
        is."""
        return [(str(file), _stamp(file)) for file in find_files(self.given, self.environment, self.folder)]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def load(
    given: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    said: Mapping[str, Any] = MappingProxyType({}),
    listens: bool = False,
) -> Loaded:
    """Everything, by the lookup above. `said` are settings that outrank the files; a gateway that `listens` must not
    have itself among its servers. Never raises for what a file says or for a file that cannot be read."""
    files = find_files(given, environment, folder)
    if not files:
        return Loaded(settings=build_settings(said), definitions=(DEMO,))
    return merge([(str(file), _read(file, environment)) for file in files], said, listens)


def find_files(given: Sequence[str], environment: Mapping[str, str], folder: Path) -> list[Path]:
    """The files to read, in order; files that were named are among them even when they do not exist."""
    if named := list(given) or list(filter(None, [environment.get("EMCEEPEE_CONFIG")])):
        return [Path(name).expanduser() for name in named]
    candidates = [folder / "mcp.json", folder / ".mcp.json", *_user_files(environment)]
    return [candidate for candidate in candidates if candidate.is_file()][:1]


def _user_files(environment: Mapping[str, str]) -> list[Path]:
    if base := environment.get("XDG_CONFIG_HOME") or environment.get("APPDATA"):
        return [Path(base) / "emceepee" / "config.json"]
    home = environment.get("HOME")
    return [Path(home) / ".config" / "emceepee" / "config.json"] if home else []


def merge(contents: Sequence[tuple[str, FileContent]], said: Mapping[str, Any], listens: bool) -> Loaded:
    """Several files as one: the first to name a server, or to give a setting, wins."""
    values = dict(said)
    for _, content in contents:
        values = {**content.settings, **values} if content.readable else values
    settings = build_settings(values)
    problems = [problem for _, content in contents for problem in content.problems]
    kept: dict[str, tuple[str, ServerDefinition]] = {}
    own = OwnAddresses(socket.gethostname())
    if listens:
        own.add(f"{settings.host}:{settings.port}")
    for file, content in contents:
        for placed in content.servers if content.readable else ():
            if problem := _objection(placed, file, kept, own, settings.limits.max_servers):
                problems.append(problem)
            else:
                kept[placed.definition.name] = file, _with_connect_limit(placed.definition, settings)
    fatal = any(not content.readable or not content.settings_are_right for _, content in contents)
    definitions = tuple(definition for _, definition in kept.values())
    return Loaded(settings, definitions, tuple(problems), tuple(file for file, _ in contents), fatal)


def _objection(
    placed: Placed, file: str, kept: Mapping[str, tuple[str, ServerDefinition]], own: OwnAddresses, limit: int
) -> Problem | None:
    """Why this server cannot join those that are kept already."""

    def problem(what: str, cure: str, severity: Severity = "error") -> Problem:
        return Problem(file, placed.line, placed.column, placed.where, what, cure, severity)

    definition = placed.definition
    if isinstance(definition.launch, StdioLaunch) and starts_this_gateway(definition.launch):
        return problem("this is how a client starts the gateway itself; it is left out", "nothing to do", "note")
    if definition.name in kept:
        what = f"the server '{definition.name}' is already in {kept[definition.name][0]}, which is kept"
        return problem(what, "rename or remove one", "note")
    if isinstance(definition.launch, HttpEndpoint) and own.includes(definition.launch.url):
        return problem("the URL is this gateway itself", "remove it, or let one of the two listen on another port")
    if len(kept) >= limit:
        return problem(f"this is one server more than {limit}", 'raise "emceepee": {"limits": {"max_servers": …}}')
    return None


def starts_this_gateway(launch: StdioLaunch) -> bool:
    """Whether the program would be another of us, reading the same file: editors keep their servers in `.mcp.json`, we
    among them, and we look there too. With a configuration or a folder of its own it is another gateway."""
    program, *words = (Path(word).stem for word in (launch.command, *launch.args[:2]))
    ours = (
        program == "emceepee"
        or (program == "uvx" and words[:1] == ["emceepee"])
        or (program.startswith("python") and words == ["-m", "emceepee"])
    )
    elsewhere = launch.cwd is not None or "EMCEEPEE_CONFIG" in launch.env
    return ours and not elsewhere and not any(word.partition("=")[0] == "--config" for word in launch.args)


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
