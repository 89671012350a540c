"""A child process as a transport: one message a line, in its own process group.

    start    prepared (`process_launch`), spawned behind the gate, made known to the warden, let go
    lost     the child exited or closed a pipe: after a moment for its last words this is said once, with the exit code
             and the last line of stderr; whatever it left in its group is ended
    close    stdin closed, 2 s; SIGTERM to the group, 2 s; SIGKILL to the group; reaped

It is not a supervisor: it never starts a second child. Whoever wants another makes another transport.

The one rule: when `close` has returned, or soon after `lost`, nobody is left in the child's process group.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import msgspec

from emceepee.backends.children import Children, environment
from emceepee.backends.definition import StdioLaunch
from emceepee.backends.own_secrets import of_environment
from emceepee.backends.process_group import ProcessGroup, ending_in_words
from emceepee.backends.process_launch import Prepared, prepare, through_gate
from emceepee.backends.stderr_lines import StderrLines
from emceepee.backends.transport import PIPE, SENT, Header, Inbox, Sending
from emceepee.backends.unreadable import answer_instead
from emceepee.backends.warden import interpreter
from emceepee.errors import BackendFault, BackendUnavailable
from emceepee.framing.json_text import Limits, Unreadable, read_messages
from emceepee.framing.lines import LineReader, Overlong
from emceepee.protocol.messages import RequestId
from emceepee.runtime.clock import Clock, Timer

_log = logging.getLogger("emceepee.backends")

OnStderr: TypeAlias = Callable[[str], None]

LIMITS = Limits(max_bytes=32 * 1024 * 1024)
GRACE = 2.0
LAST_WORDS = 0.5
HIGH_WATER = 256 * 1024
MOST_WAITING = 16 * 1024 * 1024
_POLL = 0.01
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class StdioTransport:
    """Implements `transport.Transport`. Each line of its stderr is logged; `on_stderr` gets it as well."""

    def __init__(
        self,
        server: str,
        launch: StdioLaunch,
        clock: Clock,
        family: Children,
        on_stderr: OnStderr = lambda line: None,
        limits: Limits = LIMITS,
    ) -> None:
        self.server = server
        self._launch = launch
        self._clock = clock
        self._family = family
        self._on_stderr = on_stderr
        self._limits = limits
        self._lines = LineReader(limits)
        self._stderr = StderrLines(of_environment(launch.env).hide)
        self._inbox: Inbox | None = None
        self._fault: BackendFault | None = BackendUnavailable(server, "has not been started")
        self._child: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._group: ProcessGroup | None = None
        self._open_pipes = {_STDOUT, _STDERR}
        self._exited = False
        self._given_up = False
        self._ending: Timer | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._waiting = 0
        self._closed: asyncio.Future[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._group.id if self._group is not None else None

    @property
    def children(self) -> tuple[int, ...]:
        return () if self._group is None or self._exited else (self._group.id,)

    @property
    def session(self) -> str | None:
        """Another process remembers nothing of what was agreed with this one."""
        return None if self._group is None else f"process {self._group.id}"

    # --- start

    async def start(self, inbox: Inbox) -> None:
        """Raises `BackendUnavailable` when the command cannot be found or run, or when there are too many children."""
        prepared = prepare(self.server, self._launch, os.environ)
        mark = self._family.admit(self.server)
        try:
            child = await self._spawned(prepared, mark, inbox)
        except BaseException:
            self._family.give_back()
            raise
        # Nothing is awaited from here on: a cancelled start has either no child or one that `close` ends.
        self._child = child
        self._group = ProcessGroup(child)
        self._family.watch(self._group.id, mark)
        stdin = cast(asyncio.WriteTransport, child.get_pipe_transport(_STDIN))
        stdin.set_write_buffer_limits(high=HIGH_WATER)
        self._stdin = stdin
        self._fault = None
        if interpreter() is not None:
            stdin.write(b"\n")

    async def _spawned(self, prepared: Prepared, mark: str, inbox: Inbox) -> asyncio.SubprocessTransport:
        python = interpreter()
        argv = prepared.argv if python is None else through_gate(prepared, python)
        env = prepared.env | environment(mark)
        self._inbox = inbox
        try:
            child, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Pipes(self), *argv, cwd=prepared.cwd, env=env, start_new_session=True
            )
        except asyncio.CancelledError:
            self._inbox = None
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BackendUnavailable(self.server, f"command '{self._launch.command}' cannot be run: {reason}") from None
        return child

    # --- out

    def begin(self, message: bytes, request: RequestId, headers: Sequence[Header] = ()) -> Sending | None:
        if not self._writable.is_set():
            return None
        self._write(message)
        return SENT

    async def send(self, message: bytes, request: RequestId | None = None, headers: Sequence[Header] = ()) -> None:
        """Waits while the child does not read. Raises `BackendUnavailable`, always before anything was written."""
        if not self._writable.is_set():
            await self._wait_until_writable(len(message))
        self._write(message)

    def _write(self, message: bytes) -> None:
        if self._fault is not None:
            raise self._fault
        if b"\n" in message or b"\r" in message:
            # A payload is relayed as it came; between JSON tokens a line break is a blank, and elsewhere it cannot be.
            message = message.replace(b"\n", b" ").replace(b"\r", b" ")
        assert self._stdin is not None
        if self._stdin.is_closing():
            # It is about to be lost, and its last words are still waited for.
            raise BackendUnavailable(self.server, "takes no input any more")
        self._stdin.write(message + b"\n")

    async def _wait_until_writable(self, size: int) -> None:
        if self._waiting + size > MOST_WAITING:
            raise BackendUnavailable(self.server, f"does not read its input; {self._waiting} bytes wait already")
        self._waiting += size
        try:
            while not self._writable.is_set():
                await self._writable.wait()
        finally:
            self._waiting -= size

    def paused(self) -> None:
        self._writable.clear()

    def resumed(self) -> None:
        self._writable.set()

    # --- in

    def received(self, fd: int, data: bytes) -> None:
        if fd == _STDERR:
            for text in self._stderr.feed(data, self._clock.now()):
                self._said(text)
            return
        for line in self._lines.feed(data):
            if self._inbox is None:
                return
            if isinstance(line, Overlong):
                self._overlong(line, self._inbox)
            else:
                self._line(line, self._inbox)

    def _line(self, line: bytes, inbox: Inbox) -> None:
        try:
            found = read_messages(line, self._limits)
        except Unreadable as problem:
            self._unreadable(problem, line, inbox)
            return
        for item in found if isinstance(found, list) else (found,):
            if isinstance(item, Unreadable):
                self._unreadable(item, line, inbox)
            else:
                inbox.message(item, PIPE)

    def _unreadable(self, problem: Unreadable, line: bytes, inbox: Inbox) -> None:
        if line.startswith((b"{", b"[")):
            inbox.rubbish(f"{len(line)} bytes: {problem.message}", PIPE)
        else:  # somebody printed to stdout; what they printed is the best hint at who
            inbox.rubbish(f"a line on stdout that is no message: {line[:80].decode('utf-8', 'replace')!r}", PIPE)
        if problem.answers and problem.id is not None:
            inbox.message(answer_instead(problem.id, problem.message), PIPE)

    def _overlong(self, line: Overlong, inbox: Inbox) -> None:
        detail = f"a message is longer than {line.limit} bytes"
        inbox.rubbish(detail, PIPE)
        if (request := _answered_by(line.head)) is not None:
            inbox.message(answer_instead(request, detail), PIPE)

    # --- the end of it

    def pipe_closed(self, fd: int) -> None:
        if fd == _STDOUT and self._inbox is not None and (rest := self._lines.end()) is not None:
            self._line(rest, self._inbox)
        if fd == _STDERR:
            for text in self._stderr.end(self._clock.now()):
                self._said(text)
        self._open_pipes.discard(fd)
        if fd != _STDERR:
            self._begin_to_end()
        self._end_when_all_is_said()

    def exited(self) -> None:
        self._exited = True
        if self._group is not None:
            self._group.terminate()
        self._begin_to_end()
        self._end_when_all_is_said()
        self._let_go()

    def _begin_to_end(self) -> None:
        """Exit and ends of pipes arrive in any order, and some never do; wait for them, but not long."""
        if self._ending is None and self._inbox is not None:
            self._ending = self._clock.after(LAST_WORDS, self._lost)

    def _end_when_all_is_said(self) -> None:
        if self._exited and not self._open_pipes:
            self._lost()

    def _lost(self) -> None:
        inbox, self._inbox = self._inbox, None
        if inbox is None:
            return
        returncode = self._child.get_returncode() if self._child is not None else None
        said = f"; its last line on stderr: {self._stderr.last[:300]}" if self._stderr.last else ""
        self._fail(BackendUnavailable(self.server, ending_in_words(returncode) + said))
        if self._group is not None and self._group.terminate():
            self._ending = self._clock.after(GRACE, self._kill)
        else:
            self._kill()
        assert self._fault is not None
        inbox.lost(self._fault)

    def _fail(self, fault: BackendFault) -> None:
        self._fault = fault
        self._writable.set()

    def _kill(self) -> None:
        """Idempotent."""
        if self._ending is not None:
            self._ending.cancel()
        if self._group is not None:
            if self._group.kill():
                self._ending = self._clock.after(LAST_WORDS, self._group.reap)
            self._family.forget(self._group.id)
        self._given_up = True
        self._let_go()

    def _let_go(self) -> None:
        """Only of a child that has exited: uvloop does not reap one whose transport was closed before."""
        if self._given_up and self._exited and self._child is not None:
            self._child.close()

    async def close(self) -> None:
        if self._closed is not None:
            await asyncio.shield(self._closed)
            return
        self._closed = asyncio.get_running_loop().create_future()
        self._inbox = None
        self._fail(BackendUnavailable(self.server, "the connection was closed"))
        try:
            await self._end_in_steps()
        finally:
            self._kill()
            self._closed.set_result(None)
        await self._until(self._nothing_left, LAST_WORDS)
        if self._ending is not None:
            self._ending.cancel()

    def _nothing_left(self) -> bool:
        return self._exited and not self._open_pipes and (self._group is None or not self._group.alive())

    async def _end_in_steps(self) -> None:
        group = self._group
        if group is None or self._stdin is None:
            return
        self._stdin.close()
        await self._until(lambda: self._exited, GRACE)
        if group.terminate():
            await self._until(lambda: not group.alive(), GRACE)

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        """The end of grandchildren makes no event anywhere, so this looks again and again."""
        if self._child is None:
            return
        deadline = self._clock.now() + seconds
        while not condition() and self._clock.now() < deadline:
            await self._clock.sleep(_POLL)

    def _said(self, text: str) -> None:
        _log.info("backend_stderr", extra={"data": {"server": self.server, "line": text}})
        self._on_stderr(text)


class _Pipes(asyncio.SubprocessProtocol):
    """What the loop calls; passes it on."""

    def __init__(self, owner: StdioTransport) -> None:
        self._owner = owner

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._owner.received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._owner.pipe_closed(fd)

    def process_exited(self) -> None:
        self._owner.exited()

    def pause_writing(self) -> None:
        self._owner.paused()

    def resume_writing(self) -> None:
        self._owner.resumed()


_answer_head = re.compile(
    rb'\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*,'
    rb'\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"'
)


def _answered_by(head: bytes) -> RequestId | None:
    """Which request of ours a dropped line would have answered, if its beginning tells."""
    match = _answer_head.match(head)
    if match is None:
        return None
    found: RequestId = msgspec.json.decode(match[1], type=int | str)
    return found
