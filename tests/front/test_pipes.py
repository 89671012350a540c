"""Our own standard streams, real ones: pipes, files, a reader that stops, a writer that floods."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emceepee.front.pipes import is_pollable, open_input, open_output
from tests.support.front_bench import call, enveloped

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "tests.support.stdio_front_program"]
ASKED = b"".join(json.dumps(enveloped(call(id=n))).encode() + b"\n" for n in range(3))


def ids_of(output: bytes) -> list[int]:
    return [json.loads(line)["id"] for line in output.splitlines()]


def test_over_real_pipes_only_messages_reach_standard_output() -> None:
    ended = subprocess.run(PROGRAM, input=ASKED, capture_output=True, cwd=ROOT, timeout=20, check=True)
    assert ids_of(ended.stdout) == [0, 1, 2]
    assert b"stray" in ended.stderr


def test_from_a_file_to_a_file(tmp_path: Path) -> None:
    asked, told = tmp_path / "in", tmp_path / "out"
    asked.write_bytes(ASKED)
    with asked.open("rb") as source, told.open("wb") as target:
        subprocess.run(PROGRAM, stdin=source, stdout=target, stderr=subprocess.PIPE, cwd=ROOT, timeout=20, check=True)
    assert ids_of(told.read_bytes()) == [0, 1, 2]


async def test_a_reader_that_stops_holds_the_writer_up_and_one_that_leaves_breaks_it() -> None:
    read_fd, write_fd = os.pipe()
    assert is_pollable(write_fd)
    output = await open_output(write_fd)
    await output.write(b"x")
    writing = asyncio.create_task(output.write(b"y" * 1_000_000))
    done, _ = await asyncio.wait((writing,), timeout=0.05)
    assert not done
    os.close(read_fd)
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(5.0):
            await writing
    with pytest.raises(BrokenPipeError):
        await output.write(b"z")


async def test_what_was_written_leaves_before_the_end(tmp_path: Path) -> None:
    read_fd, write_fd = os.pipe()
    output = await open_output(write_fd)
    await output.write(b"whole")
    async with asyncio.timeout(5.0):
        await output.close()
    assert os.read(read_fd, 10) == b"whole"
    os.close(read_fd)
    target = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    assert not is_pollable(target)
    to_file = await open_output(target)
    await to_file.write(b"whole")
    await to_file.close()
    assert (tmp_path / "file").read_bytes() == b"whole"


async def test_a_pipe_is_read_to_its_end() -> None:
    read_fd, write_fd = os.pipe()
    source = await open_input(read_fd)
    os.write(write_fd, b"a")
    async with asyncio.timeout(5.0):
        assert await source.read() == b"a"
        os.close(write_fd)
        assert await source.read() == b""
    source.close()


async def test_a_file_is_read_a_chunk_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    source = await open_input(os.open(tmp_path / "file", os.O_RDONLY))
    sizes = []
    async with asyncio.timeout(5.0):
        while chunk := await source.read():
            sizes.append(len(chunk))
    assert sum(sizes) == 100_000
    assert max(sizes) <= 65_536
    source.close()
