"""The plain command and `serve`: the gateway itself, on standard streams or over HTTP.

What a file says, the command line overrides. The one rule: nothing is started before everything that can be refused has
been refused, in one sentence that says what to do.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emceepee.backends.definition import ServerDefinition
from emceepee.cli.printing import how_to_connect
from emceepee.cli.terminal import approver
from emceepee.config.load import Loaded, Source
from emceepee.config.settings import Settings, Timeouts, is_wildcard
from emceepee.errors import OperatorFault
from emceepee.observability import log_lines
from emceepee.sampling.approval import Approver
from emceepee.storage.place import default_file

_log = logging.getLogger("emceepee.cli")


def run_gateway(options: argparse.Namespace) -> int:
    serving = options.command == "serve"
    source = Source(options.config or [], os.environ, Path.cwd(), said(options), serving)
    loaded = source.read()
    settings = loaded.settings
    if loaded.fatal:
        for problem in loaded.problems:
            print(problem, file=sys.stderr)
        raise OperatorFault("the configuration has mistakes that make it unsafe to start; 'emceepee check' shows them")
    if serving and (exposure := settings.exposure_problem()):
        raise OperatorFault(exposure)
    path = None if serving else surface_path(options.surface, loaded.definitions)
    person = approver(settings, serving)
    log_lines.start(settings.log_level, settings.log_format)
    _tell(loaded)
    from emceepee.cli.running import run

    state = state_file(settings, serving, os.environ)
    if path is None:
        return run(_serve(source, loaded, person, state))
    return run(_stdio(source, loaded, path, state))


def state_file(settings: Settings, serving: bool, environment: Mapping[str, str]) -> Path | None:
    """Where what outlives the process is kept, if it is. On stdio each client starts a gateway of its own, and only one
    can have the file."""
    if settings.state == "off" or (settings.state == "auto" and not serving):
        return None
    if settings.state_file:
        return Path(settings.state_file).expanduser()
    file = default_file(environment)
    if file is None:
        cure = "set HOME or XDG_STATE_HOME, or name a file with --state"
        _log.warning("state_not_kept", extra={"data": {"reason": f"there is no home folder; {cure}"}})
    return file


def said(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given on the command line, under their names. Raises `OperatorFault`."""
    values: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("host", "port", "profile", "log_level", "log_format")
        if getattr(options, name, None) is not None
    }
    if getattr(options, "insecure_no_auth", False):
        values["insecure_no_auth"] = True
    if file := getattr(options, "state", None):
        values |= {"state": "on", "state_file": file}
    if getattr(options, "no_state", None):
        values["state"] = "off"
    for name, option in (("allowed_origins", "allow_origin"), ("allowed_hosts", "allow_host")):
        if given := getattr(options, option, None):
            values[name] = tuple(given)
    for text in options.timeout or []:
        name, seconds = _time_limit(text)
        values[f"timeouts.{name}"] = seconds
    return values


def _time_limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    name = name.strip().replace("-", "_")
    known = [field.name for field in dataclasses.fields(Timeouts)]
    if name not in known:
        raise OperatorFault(f"--timeout {text}: there is no such time limit; there is {', '.join(known)}")
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise OperatorFault(f"--timeout {text}: write {name}=SECONDS with a number of more than 0")
    return name, seconds


def surface_path(surface: str, definitions: tuple[ServerDefinition, ...]) -> str:
    """The path that a surface has over HTTP, which is also its name inside. Raises `OperatorFault`."""
    kind, _, name = surface.partition(":")
    match kind, name:
        case "meta", "":
            return "/mcp"
        case "direct", "":
            return "/direct/mcp"
        case "server", _ if name:
            known = [definition.name for definition in definitions]
            if name not in known:
                raise OperatorFault(f"--surface {surface}: no such server; there is {', '.join(known) or 'none'}")
            return f"/servers/{name}/mcp"
        case _:
            raise OperatorFault(f"--surface {surface}: it is 'meta', 'direct' or 'server:NAME'")


def _tell(loaded: Loaded) -> None:
    """What of the files is not used, as log lines: the gateway starts without it."""
    for problem in loaded.problems:
        say = _log.warning if problem.severity == "error" else _log.info
        say("config_problem", extra={"data": problem.as_json()})
    files = list(loaded.files) or ["(built in)"]
    names = [definition.name for definition in loaded.definitions]
    _log.info("config_loaded", extra={"data": {"files": files, "servers": names}})


async def _serve(source: Source, loaded: Loaded, person: Approver | None, state: Path | None) -> int:
    from emceepee.app import serve_http

    settings = loaded.settings

    def ready(url: str) -> None:
        _log.info("listening", extra={"data": {"url": f"{url}/mcp"}})
        if is_wildcard(settings.host) and not settings.allowed_hosts:
            cure = "only clients that call us by a name of this machine are served; add --allow-host NAME for others"
            _log.warning("host_names_unknown", extra={"data": {"host": settings.host, "cure": cure}})
        if settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty()):
            print(how_to_connect(f"{url}/mcp", _called()), file=sys.stderr, flush=True)

    configuration = (source, loaded)
    await serve_http(settings, loaded.definitions, ready, configuration=configuration, approver=person, state=state)
    return 0


def _called() -> str:
    """How whoever reads this can call us again: in a checkout, not by the plain name."""
    path = sys.argv[0]
    return "emceepee" if Path(path).name != "emceepee" or shutil.which("emceepee") else path


async def _stdio(source: Source, loaded: Loaded, path: str, state: Path | None) -> int:
    from emceepee.app import serve_stdio

    if sys.stdin is not None and sys.stdin.isatty():
        hint = "emceepee waits for an MCP client on standard input. For HTTP: emceepee serve. For help: emceepee --help"
        print(hint, file=sys.stderr, flush=True)
    await serve_stdio(loaded.settings, loaded.definitions, path, configuration=(source, loaded), state=state)
    return 0
