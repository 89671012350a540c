"""What exactly is executed for a stdio server: program, arguments, environment, folder.

It looks at the file system and starts nothing. The environment is small on purpose: secrets of the gateway's own
environment are not handed to every server; what a server needs is written in its definition.

The one rule: each way in which a launch cannot work is found here if it can be, and said with its cure.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from emceepee.backends.definition import StdioLaunch
from emceepee.errors import BackendUnavailable

_GATE = Path(__file__).with_name("gate_program.py")

_INHERITED_POSIX = frozenset(
    ("HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
_INHERITED_WINDOWS = frozenset(
    (
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATH"),
        *("PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE"),
        *("SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    )
)


@dataclass(slots=True, frozen=True)
class Prepared:
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str | None


def environment_for(launch: StdioLaunch, inherited: Mapping[str, str], windows: bool = False) -> dict[str, str]:
    """The little that every program expects, and what the definition adds or overrides."""
    names = _INHERITED_WINDOWS if windows else _INHERITED_POSIX
    env = {
        name: value
        for name, value in inherited.items()
        if ((name.upper() if windows else name) in names or name.startswith("XDG_"))
        and not value.startswith("()")  # a shell function: code, not data
    }
    return env | dict(launch.env)


def prepare(server: str, launch: StdioLaunch, inherited: Mapping[str, str]) -> Prepared:
    """Raises `BackendUnavailable` when the folder or the command is not there."""
    env = environment_for(launch, inherited, windows=sys.platform == "win32")
    cwd = _folder(server, launch)
    program = _program(server, launch.command, env.get("PATH", os.defpath), cwd)
    return Prepared((program, *launch.args), env, cwd)


def through_gate(prepared: Prepared, python: str) -> tuple[str, ...]:
    """The same command, started by `gate_program`: it runs when a byte arrives on its stdin."""
    locale = "keep" if "LC_CTYPE" in prepared.env else "drop"
    return (python, "-I", "-S", str(_GATE), locale, *prepared.argv)


def _folder(server: str, launch: StdioLaunch) -> str | None:
    if not launch.cwd:
        return None
    folder = Path(launch.cwd).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise BackendUnavailable(server, f"its cwd '{launch.cwd}' {what}; create it or correct 'cwd'")
    return str(folder.absolute())


def _program(server: str, command: str, path: str, cwd: str | None) -> str:
    expanded = os.path.expanduser(command)
    if os.path.dirname(expanded):
        return _program_at(server, command, os.path.abspath(os.path.join(cwd or os.curdir, expanded)))
    if found := shutil.which(expanded, path=path):
        return os.path.abspath(found)
    raise BackendUnavailable(
        server,
        f"command '{command}' not found on PATH; install it, give its full path, or set PATH in the server's 'env'",
    )


def _program_at(server: str, command: str, place: str) -> str:
    if found := shutil.which(place):
        return found
    if not os.path.exists(place):
        raise BackendUnavailable(server, f"command '{command}' does not exist; correct 'command'")
    raise BackendUnavailable(server, f"command '{command}' is not an executable file; make it one (chmod +x)")
