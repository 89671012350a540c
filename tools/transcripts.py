"""Fills the `console` blocks of the documents with what their commands print.

    python -m tools.transcripts            say which documents are not what a run gives
    python -m tools.transcripts --write    run every command and write what it printed

Each document gets a gateway of its own, as `make run` starts it, on a free port; its commands run one after another.
Answers in JSON are broken into lines for reading. It does not look at the prose.

The one rule: nobody types an output; a test runs the commands and compares, moments and ports aside.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
DOCUMENTS = tuple(
    ROOT / name
    for name in ("README.md", "docs/meta-tools.md", "docs/errors.md", "docs/recovery.md", "docs/command-line.md")
)
WIDTH = 118
SHOWN = "127.0.0.1:8080"
SECONDS = 60

_block = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_varies = re.compile(r'("(?:ageMs|children|nextTryMs|roundTripMs)"): (?:\[[^\]]*\]|[\d.]+)')
_came = re.compile(r'"triggers": \[\{"type": "(?:immediate|event)"[^\]]*\]')
"""Whether what is waited for was there already or came meanwhile: the server of one example decides that."""
_id = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")


def timeless(text: str) -> str:
    """The text with each moment made the same, each id, which is made of a moment, and what differs from run to run."""
    text = _id.sub("(an id)", _moment.sub("(a moment)", text))
    return _came.sub("(it came)", _varies.sub(r"\1: (varies)", text))


def rewritten(document: str) -> str:
    """The document with each block as a run gives it."""
    if not _block.search(document):
        return document
    with gateway() as (folder, address):
        return _block.sub(lambda block: _played(block.group(), folder, address), document)


def _played(block: str, folder: Path, address: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{_printed(command[2:], folder, address)}" for command in commands)


def _printed(command: str, folder: Path, address: str) -> str:
    program, *words = shlex.split(command.replace(SHOWN, address))
    if program.rpartition("/")[2] != "emceepee":
        raise ValueError(f"only emceepee is run, not: {command}")
    done = subprocess.run(
        [sys.executable, "-m", "emceepee", *words],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    return _shaped(done.stdout.decode().replace(address, SHOWN))


def _shaped(printed: str) -> str:
    """JSON in lines that fit, whether it came as one value or one value a line; anything else as it is."""
    with contextlib.suppress(ValueError):
        return broken(json.loads(printed)) + "\n"
    lines = []
    for line in printed.splitlines():
        try:
            lines.append(broken(json.loads(line)) if line.startswith("{") else line)
        except ValueError:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def broken(value: Any, indent: int = 0, before: int = 0) -> str:
    """JSON on one line where it fits behind what stands before it, and else one member a line."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) + indent + before < WIDTH or not isinstance(value, dict | list) or not value:
        return whole
    inner = " " * (indent + 2)
    if isinstance(value, list):
        parts = [inner + broken(item, indent + 2) for item in value]
        return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"
    parts = []
    for key, member in value.items():
        name = f"{json.dumps(key, ensure_ascii=False)}: "
        parts.append(inner + name + broken(member, indent + 2, len(name)))
    return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"


@contextlib.contextmanager
def gateway() -> Iterator[tuple[Path, str]]:
    """A folder like a fresh checkout, and the address of a gateway that was started there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        process = subprocess.Popen(
            [sys.executable, "-m", "emceepee", "serve", "--port", "0", "--log-format", "json"],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        try:
            assert process.stderr is not None
            yield folder, _address(process.stderr)
        finally:
            process.terminate()
            process.wait(SECONDS)


def environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return {"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}


def _address(log: IO[bytes]) -> str:
    """Where it listens, as its log says; the rest of the log is read and dropped."""
    for line in log:
        if b'"listening"' in line:
            threading.Thread(target=log.read, daemon=True).start()
            return str(json.loads(line)["data"]["url"]).split("/")[2]
    raise RuntimeError("the gateway ended before it listened")


def main() -> int:
    stale = 0
    for path in DOCUMENTS:
        before = path.read_text(encoding="utf-8")
        after = rewritten(before)
        if timeless(before) == timeless(after):
            continue
        stale += 1
        print(f"{path.relative_to(ROOT)}: {'written' if '--write' in sys.argv else 'not what a run gives'}")
        if "--write" in sys.argv:
            path.write_text(after, encoding="utf-8")
    return 1 if stale and "--write" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
