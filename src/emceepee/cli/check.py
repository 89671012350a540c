"""`emceepee check`: every mistake of a configuration at once, without starting anything.

The one rule: exit code 0 means that each server of the files would be used and nothing else would be refused.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from emceepee.cli.printing import counted, print_json, table
from emceepee.config.load import Loaded, load


def check(options: argparse.Namespace) -> int:
    loaded = load([*(options.config or []), *options.files], os.environ, Path.cwd(), listens=True)
    exposure = loaded.settings.exposure_problem()
    bad = bool(loaded.errors) or exposure is not None
    if options.json:
        print_json(
            {
                "ok": not bad,
                "files": loaded.files,
                "servers": [definition.describe() for definition in loaded.definitions],
                "problems": [problem.as_json() for problem in loaded.problems],
                "exposure": exposure,
            }
        )
    else:
        _print(loaded, exposure)
    return 1 if bad else 0


def _print(loaded: Loaded, exposure: str | None) -> None:
    for problem in loaded.problems:
        print(problem)
    if exposure:
        print(f"{loaded.files[0]}: error: {exposure}")
    if not loaded.files:
        print("There is no configuration; the gateway would start with its demonstration server.")
        print("Write an mcp.json here, or name a file: emceepee check FILE")
        return
    rows = [
        (definition.name, "disabled" if definition.disabled else "ready", definition.address)
        for definition in loaded.definitions
    ]
    if rows:
        print(table(("SERVER", "STATE", "WHERE"), rows))
    errors = len(loaded.errors) + (exposure is not None)
    said = counted(errors, "error") if errors else "no errors"
    print(f"{counted(len(rows), 'server')}, {said} in {', '.join(loaded.files)}")
    if loaded.fatal:
        print("The gateway would not start with this.")
