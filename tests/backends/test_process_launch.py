"""What is executed, and each way in which it cannot be, before anything is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from emceepee.backends.definition import StdioLaunch
from emceepee.backends.process_launch import Prepared, environment_for, prepare, through_gate
from emceepee.errors import BackendUnavailable

HOME = {"PATH": "/usr/bin:/bin", "HOME": "/users/me"}


def program(folder: Path, name: str, mode: int = 0o755) -> Path:
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def test_only_what_every_program_expects_is_inherited() -> None:
    inherited = HOME | {"LANG": "C", "XDG_CACHE_HOME": "/c", "AWS_SECRET_ACCESS_KEY": "s", "OPENAI_API_KEY": "k"}
    assert environment_for(StdioLaunch("x"), inherited) == HOME | {"LANG": "C", "XDG_CACHE_HOME": "/c"}


def test_the_definition_adds_and_overrides() -> None:
    launch = StdioLaunch("x", env={"HOME": "/elsewhere", "KEY": "k"})
    assert environment_for(launch, HOME) == {"PATH": HOME["PATH"], "HOME": "/elsewhere", "KEY": "k"}


def test_a_shell_function_in_the_environment_is_no_data() -> None:
    assert "TERM" not in environment_for(StdioLaunch("x"), {"TERM": "() { :; }"})


def test_windows_names_are_compared_without_case() -> None:
    inherited = {"SystemRoot": "C:\\Windows", "HOME": "/h", "Path": "C:\\bin"}
    assert environment_for(StdioLaunch("x"), inherited, windows=True) == {
        "SystemRoot": "C:\\Windows",
        "Path": "C:\\bin",
    }


def test_the_command_is_looked_up_on_the_path_that_the_child_will_have(tmp_path: Path) -> None:
    file = program(tmp_path, "my-server")
    launch = StdioLaunch("my-server", ("--a",), {"PATH": str(tmp_path)})
    assert prepare("files", launch, HOME).argv == (str(file), "--a")


def test_a_command_with_a_folder_is_taken_from_the_servers_own_cwd(tmp_path: Path) -> None:
    file = program(tmp_path, "run.sh")
    prepared = prepare("files", StdioLaunch("./run.sh", cwd=str(tmp_path)), HOME)
    assert prepared.argv == (str(file),)
    assert prepared.cwd == str(tmp_path)


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = program(tmp_path, "run.sh")
    prepared = prepare("files", StdioLaunch("~/run.sh", cwd="~"), HOME)
    assert prepared == Prepared((str(file),), dict(HOME), str(tmp_path))


@pytest.mark.parametrize(
    ("launch", "said"),
    [
        (StdioLaunch("no-such-thing"), "command 'no-such-thing' not found on PATH; install it"),
        (StdioLaunch("/no/such/thing"), "command '/no/such/thing' does not exist"),
        (StdioLaunch("sh", cwd="/no/such/folder"), "its cwd '/no/such/folder' does not exist"),
        (StdioLaunch("sh", cwd="/etc/passwd"), "its cwd '/etc/passwd' is not a folder"),
        (StdioLaunch("/etc/passwd"), "command '/etc/passwd' is not an executable file"),
        (StdioLaunch("/usr"), "command '/usr' is not an executable file"),
    ],
)
def test_what_cannot_work_is_said_with_its_cure(launch: StdioLaunch, said: str) -> None:
    with pytest.raises(BackendUnavailable) as caught:
        prepare("files", launch, HOME)
    assert str(caught.value).startswith(f"Server 'files': {said}")


def test_without_a_path_the_systems_own_is_searched() -> None:
    assert os.path.basename(prepare("files", StdioLaunch("sh"), {}).argv[0]) == "sh"


def test_behind_the_gate_the_command_line_stays_as_it_was() -> None:
    gated = through_gate(Prepared(("/bin/server", "-I", "a b"), {}, None), sys.executable)
    assert gated[0] == sys.executable
    assert gated[-4:] == ("drop", "/bin/server", "-I", "a b")


def test_a_locale_of_the_definition_is_kept() -> None:
    assert "keep" in through_gate(Prepared(("/bin/server",), {"LC_CTYPE": "C"}, None), sys.executable)
