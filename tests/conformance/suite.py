"""The official suite: how it is run, and its results read from the files it leaves.

Not here: what its results mean for us (`verdicts.py`). The one rule: a scenario that left no result has failed, because
a suite that fell over must not look like one that passed.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from tests.conformance.verdicts import Check, Run, Scenario
from tests.support.third_party import node_environment, npm_folder, npm_program

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
RUN_SECONDS = 300
TASKS = "tasks-"

_RAN = re.compile(r"^=== Running scenario: (\S+) ===", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class SuiteFailed(Exception):
    """It could not be run at all."""


class Suite:
    def __init__(self) -> None:
        self._folder = npm_folder("conformance", f"{PACKAGE}@{VERSION}")

    def required(self, revision: str) -> set[str]:
        """The server scenarios that a revision requires; what else runs is told and not scored."""
        text = (self._folder / "node_modules" / PACKAGE / "requirements" / f"{revision}.yaml").read_text()
        section = re.search(r"^server:\n((?:\s+-\s+\S+\n)+)", text, re.MULTILINE)
        if section is None:
            raise SuiteFailed(f"the suite's requirements for {revision} cannot be read")
        return set(re.findall(r"-\s+(\S+)", section[1]))

    def run(self, url: str, revision: str) -> Run:
        """All that the revision requires of a server, and what is reported beside it."""
        program = npm_program(self._folder, PACKAGE, "dist/index.js")
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            command = [*program, "server", "--url", url, "--requirements", revision, "-o", folder]
            said = _said(command, Path(folder))
            names = _RAN.findall(said)
            required = self.required(revision)
            found = {name: Scenario(name in required, _checks(Path(folder), name)) for name in names}
        missing = required.difference(found)
        if missing:
            raise SuiteFailed(f"{url} at {revision}: not run: {', '.join(sorted(missing))}\n{said[-800:]}")
        return found

    def run_one(self, url: str, scenario: str) -> Run:
        """A single scenario, scored."""
        program = npm_program(self._folder, PACKAGE, "dist/index.js")
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            said = _said([*program, "server", "--url", url, "--scenario", scenario, "-o", folder], Path(folder))
            checks = _checks(Path(folder), scenario)
        if not checks:
            raise SuiteFailed(f"{url}: {scenario} has checked nothing\n{said[-800:]}")
        return {scenario: Scenario(True, checks)}

    def run_tasks(self, url: str, revision: str) -> Run:
        """Of a run, the scenarios of the tasks extension, which no revision requires and we promise: all are scored."""
        found = {name: one for name, one in self.run(url, revision).items() if name.startswith(TASKS)}
        if not found:
            raise SuiteFailed(f"{url} at {revision}: no scenario of tasks was run")
        return {name: Scenario(True, one.checks) for name, one in found.items()}


def _said(command: list[str], cwd: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=node_environment(), capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SuiteFailed(f"the suite was not done in {RUN_SECONDS} s") from None
    return _COLOUR.sub("", done.stdout + done.stderr)


def _checks(folder: Path, scenario: str) -> tuple[Check, ...]:
    """From `server-<scenario>-<time>/checks.json`. The suite folds nothing: an id may come many times."""
    stamped = re.compile(re.escape(f"server-{scenario}") + r"-\d{4}-\d\d-\d\dT[\d-]+Z")
    results = sorted(path for path in folder.iterdir() if stamped.fullmatch(path.name))
    if not results:
        return (Check(scenario, "FAILURE", "it left no result"),)
    checks = json.loads((results[-1] / "checks.json").read_text())
    return tuple(
        Check(one["id"], one.get("status", "INFO"), one.get("errorMessage") or one.get("description") or "")
        for one in checks
    )
