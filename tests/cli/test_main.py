"""The beginning and the end of the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emceepee.cli import check as check_command
from emceepee.cli.main import main
from emceepee.errors import OperatorFault


def test_nothing_heavy_is_imported_before_a_command_needs_it() -> None:
    code = (
        "import sys, emceepee.cli.main as cli; cli.main(['check', '--json']);"
        "heavy = {'emceepee.app', 'uvicorn', 'asyncio', 'ssl', 'mcp'} & set(sys.modules);"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False, cwd="/"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "said"), [(OperatorFault("do this"), "emceepee: do this\n"), (KeyboardInterrupt(), "")]
)
def test_what_somebody_can_mend_is_one_sentence_and_code_1(error, said, monkeypatch, capsys) -> None:
    def failing(options: object) -> int:
        raise error

    monkeypatch.setattr(check_command, "check", failing)
    assert main(["check"]) == 1
    assert capsys.readouterr() == ("", said)


def test_the_module_can_be_run() -> None:
    command = [sys.executable, "-m", "emceepee", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout.split()[0]) == (0, "emceepee")


def test_a_reader_that_has_enough_causes_no_complaint() -> None:
    command = f"'{sys.executable}' -m emceepee check --json; echo $? >&2"
    done = subprocess.run(["sh", "-c", f"({command}) | true"], capture_output=True, text=True, timeout=30, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
