"""A child as a transport, with real children. What its parts do is shown beside them (launch, group, warden)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from emceepee.backends import stdio
from emceepee.backends.children import Children as Family
from emceepee.backends.definition import StdioLaunch
from emceepee.backends.stdio import StdioTransport
from emceepee.backends.transport import PIPE
from emceepee.errors import BackendUnavailable
from emceepee.framing.json_text import Limits
from emceepee.protocol.messages import Failure, Notification, Result, write_notification, write_request
from emceepee.runtime.clock import SystemClock
from tests.support.fake_clock import FakeClock
from tests.support.inbox import RecordingInbox
from tests.support.processes import STDIO_SERVER, alive, all_gone, pids_in, until


class Children:
    """Starts transports and ends all of them after the test."""

    def __init__(self) -> None:
        self.family = Family(SystemClock())
        self.transports: list[StdioTransport] = []
        self.stderr: list[str] = []

    def make(self, launch: StdioLaunch, limits: Limits = stdio.LIMITS) -> StdioTransport:
        transport = StdioTransport("files", launch, SystemClock(), self.family, self.stderr.append, limits)
        self.transports.append(transport)
        return transport

    async def server(self, *flags: str) -> tuple[StdioTransport, RecordingInbox]:
        transport = self.make(StdioLaunch(sys.executable, (STDIO_SERVER, *flags)))
        return transport, await started(transport)

    async def program(self, code: str, limits: Limits = stdio.LIMITS) -> tuple[StdioTransport, RecordingInbox]:
        transport = self.make(StdioLaunch(sys.executable, ("-c", code)), limits)
        return transport, await started(transport)

    async def close(self) -> None:
        for transport in self.transports:
            await transport.close()
        await self.family.close()


def no_child_left() -> bool:
    """Neither living nor as a zombie."""
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


async def started(transport: StdioTransport) -> RecordingInbox:
    inbox = RecordingInbox()
    await transport.start(inbox)
    return inbox


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = Children()
    yield children
    async with asyncio.timeout(30):
        await children.close()
    assert no_child_left()


def call(tool: str, request_id: str = "e1", **arguments: object) -> bytes:
    params = json.dumps({"name": tool, "arguments": arguments}).encode()
    return write_request(request_id, "tools/call", params)


def text_of(message: object) -> str:
    assert isinstance(message, Result)
    return str(json.loads(bytes(message.result))["content"][0]["text"])


async def test_a_message_goes_to_the_child_and_its_answer_comes_back_from_the_pipe(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(call("echo", text="héllo"))
    assert text_of(await inbox.next()) == "héllo"
    assert inbox.messages[0][1] == PIPE


async def test_a_message_with_line_breaks_between_its_tokens_is_still_one_line(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(b'{"jsonrpc": "2.0",\r\n "id": 7,\n "method": "ping"\n}')
    answer = await inbox.next()
    assert isinstance(answer, Result)
    assert answer.id == 7


async def test_a_mebibyte_comes_through_whole(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(call("big", bytes=1024 * 1024))
    assert len(text_of(await inbox.next())) == 1024 * 1024


async def test_the_members_of_a_batch_are_handed_over_one_by_one(children: Children) -> None:
    one, two = '{"jsonrpc":"2.0","id":1,"result":{}}', '{"jsonrpc":"2.0","method":"notifications/x"}'
    _, inbox = await children.program(f"print('[{one},{two}]', flush=True); input()")
    assert isinstance(await inbox.next(), Result)
    assert isinstance(await inbox.next(), Notification)


@pytest.mark.shows("X-GAP-08")
async def test_the_child_gets_its_arguments_environment_and_folder(children: Children, tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv[1], os.environ['KEY'], os.getcwd(), file=sys.stderr)"
    launch = StdioLaunch(sys.executable, ("-c", code, "arg one"), {"KEY": "value"}, str(tmp_path))
    inbox = await started(children.make(launch))
    await inbox.fault()
    assert children.stderr == [f"arg one value {tmp_path}"]


async def test_nothing_of_the_gateways_own_environment_leaks_but_the_usual(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_SECRET", "s3cret")
    monkeypatch.delenv("LC_CTYPE", raising=False)
    transport, inbox = await children.server()
    await transport.send(call("env"))
    env = json.loads(text_of(await inbox.next()))
    assert "GATEWAY_SECRET" not in env
    assert "PATH" in env
    assert set(env) <= {"HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM"} | {
        *("TMPDIR", "TZ", "USER", "EMCEEPEE_CHILD"),
        *(name for name in env if name.startswith("XDG_")),
    }


async def test_noise_on_stdout_is_told_and_the_messages_around_it_arrive(children: Children) -> None:
    transport, inbox = await children.server("--rubbish")
    await transport.send(call("echo", text="a"))
    assert text_of(await inbox.next()) == "a"
    assert inbox.rubbish_heard == ["a line on stdout that is no message: 'this is no message'"]


async def test_what_looks_like_a_message_and_is_none_is_told_without_its_content(children: Children) -> None:
    _, inbox = await children.program("""print('{"jsonrpc":"2.0","secret": oops}', flush=True); input()""")
    assert await until(lambda: bool(inbox.rubbish_heard), 10)
    assert "oops" not in inbox.rubbish_heard[0]
    assert "secret" not in inbox.rubbish_heard[0]


async def test_an_answer_that_cannot_be_read_ends_its_request(children: Children) -> None:
    _, inbox = await children.program("""print('{"jsonrpc":"2.0","id":"e1","error":5}', flush=True); input()""")
    answer = await inbox.next()
    assert isinstance(answer, Failure)
    assert answer.id == "e1"


async def test_a_line_that_is_too_long_is_dropped_its_request_ended_and_the_next_line_whole(children: Children) -> None:
    long = """print('{"jsonrpc":"2.0","id":"e1","result":{"x":"' + 'x' * 5000 + '"}}')"""
    short = """print('{"jsonrpc":"2.0","id":"e2","result":{}}', flush=True)"""
    _, inbox = await children.program(f"{long}; {short}; input()", Limits(max_bytes=1000))
    first, second = await inbox.next(), await inbox.next()
    assert isinstance(first, Failure)
    assert (first.id, "longer than 1000 bytes" in first.error.message) == ("e1", True)
    assert isinstance(second, Result)
    assert inbox.rubbish_heard == ["a message is longer than 1000 bytes"]


async def test_half_a_message_before_the_end_is_told_as_rubbish(children: Children) -> None:
    _, inbox = await children.program("""print('{"jsonrpc":"2.0","id":1,"resu', end='')""")
    await inbox.fault()
    assert len(inbox.rubbish_heard) == 1
    assert not inbox.messages


async def test_stderr_comes_as_lines(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(call("say_on_stderr", text="one\ntwo"))
    await inbox.next()
    assert await until(lambda: len(children.stderr) == 2, 10)
    assert children.stderr == ["one", "two"]


async def test_stderr_is_logged_where_nobody_else_takes_it(
    children: Children, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="emceepee.backends")
    _, inbox = await children.server("--exit-with", "0")
    await inbox.fault()
    record = next(record for record in caplog.records if record.message == "backend_stderr")
    assert record.__dict__["data"] == {"server": "files", "line": "told to exit"}


async def test_a_child_that_exits_is_lost_with_its_code_and_its_last_word(children: Children) -> None:
    transport, inbox = await children.server("--exit-with", "3")
    fault = await inbox.fault()
    assert isinstance(fault, BackendUnavailable)
    assert fault.detail == "exited with code 3; its last line on stderr: told to exit"
    with pytest.raises(BackendUnavailable, match="exited with code 3"):
        await transport.send(call("echo", text="a"))


async def test_a_child_that_is_killed_is_lost_with_the_signal(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(call("echo", text="a"))
    await inbox.next()
    assert transport.pid is not None
    os.kill(transport.pid, signal.SIGKILL)
    assert "was ended by SIGKILL" in (await inbox.fault()).detail


async def test_what_a_child_said_just_before_it_died_still_arrives_before_the_loss(children: Children) -> None:
    said = """print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)"""
    _, inbox = await children.program(f"import os; {said}; os._exit(1)")
    await inbox.fault()
    assert len(inbox.messages) == 1
    assert len(inbox.faults) == 1


async def test_a_child_that_only_closes_its_output_is_lost_and_ended(children: Children) -> None:
    transport, inbox = await children.program("import os, time; os.close(1); time.sleep(600)")
    assert "closed its output" in (await inbox.fault()).detail
    assert transport.pid is not None
    assert await all_gone([transport.pid], 5)


async def test_a_command_that_is_not_there_is_said(children: Children) -> None:
    with pytest.raises(BackendUnavailable, match="command 'no-such-command' not found on PATH"):
        await started(children.make(StdioLaunch("no-such-command")))


async def test_a_program_that_cannot_be_executed_is_said(children: Children, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    inbox = await started(children.make(StdioLaunch(str(program))))
    assert f"cannot execute '{program}': No such file" in (await inbox.fault()).detail


async def test_sending_waits_while_the_child_does_not_read_and_is_bounded(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MOST_WAITING", 3_000_000)
    monkeypatch.setattr(stdio, "GRACE", 0.3)
    transport, _ = await children.server("--deaf")
    await transport.send(write_notification("x", b'"' + b"x" * 2_000_000 + b'"'))
    waiting = asyncio.get_running_loop().create_task(transport.send(b"x" * 2_000_000))
    await asyncio.sleep(0)
    assert not waiting.done()
    with pytest.raises(BackendUnavailable, match="does not read its input"):
        await transport.send(b"x" * 2_000_000)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await transport.close()


async def test_a_waiting_send_fails_when_the_transport_is_closed(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.3)
    transport, _ = await children.server("--deaf")
    await transport.send(b"x" * 2_000_000)
    waiting = asyncio.get_running_loop().create_task(transport.send(b"x"))
    await asyncio.sleep(0)
    await transport.close()
    with pytest.raises(BackendUnavailable, match="closed"):
        await waiting


async def test_closing_ends_a_child_by_the_end_of_its_input_and_says_nothing(children: Children) -> None:
    transport, inbox = await children.server()
    await transport.send(call("echo", text="a"))
    await inbox.next()
    pid = transport.pid
    assert pid is not None
    await transport.close()
    await transport.close()
    assert not alive(pid)
    assert not inbox.faults


async def test_closing_ends_a_stubborn_child_and_what_it_started(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.3)
    file = tmp_path / "pids"
    flags = ("--ignore-eof", "--ignore-sigterm", "--grandchildren", "2", "--pids", str(file))
    transport, _ = await children.server(*flags)
    pids = await pids_in(file, 3)
    await transport.close()
    assert await all_gone(pids, 1)


async def test_grandchildren_are_ended_when_the_child_dies_before_them(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.3)
    file = tmp_path / "pids"
    _, inbox = await children.server(
        "--ignore-sigterm", "--grandchildren", "2", "--pids", str(file), "--exit-with", "1"
    )
    assert "exited with code 1" in (await inbox.fault()).detail
    assert await all_gone(await pids_in(file, 3), 3)


async def test_a_close_that_is_cancelled_still_leaves_nobody(children: Children, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    transport, _ = await children.server("--ignore-eof", "--ignore-sigterm", "--pids", str(file))
    pids = await pids_in(file, 1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await transport.close()
    assert await all_gone(pids, 2)


async def test_closing_before_the_start_is_nothing(children: Children) -> None:
    transport = children.make(StdioLaunch(sys.executable))
    await transport.close()
    with pytest.raises(BackendUnavailable, match="closed"):
        await transport.send(b"{}")


async def test_nothing_is_written_to_a_child_that_is_about_to_be_lost(children: Children) -> None:
    """Its input is closed already; that it is lost is said when its last words had their time."""
    launch = StdioLaunch(sys.executable, ("-c", "import os, time; os.close(0); print(1, flush=True); time.sleep(60)"))
    clock = FakeClock()
    transport = StdioTransport("files", launch, clock, children.family)
    inbox = RecordingInbox()
    await transport.start(inbox)
    assert await until(lambda: bool(inbox.rubbish_heard), 5)
    with pytest.raises(BackendUnavailable, match="takes no input any more"):
        await asyncio.wait_for(writing(transport), 5)
    assert not inbox.faults
    closing = asyncio.ensure_future(transport.close())
    while not closing.done():
        await clock.advance(0.1)
    await closing


async def writing(transport: StdioTransport) -> None:
    while True:
        await transport.send(write_request("e1", "ping", None))
        await asyncio.sleep(0)
