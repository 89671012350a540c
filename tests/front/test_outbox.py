"""What waits for a client that reads slowly: bounded, in order, answers never lost."""

from __future__ import annotations

import asyncio

from emceepee.front.outbox import Outbox
from emceepee.runtime.spawn import TaskScope
from tests.support.fake_clock import settle


class Reader:
    """The far end; `reading` says whether it takes anything."""

    def __init__(self) -> None:
        self.tasks = TaskScope("test")
        self.chunks: list[bytes] = []
        self.reading = asyncio.Event()
        self.reading.set()
        self.ended = False
        self.gone = False
        self.outbox = Outbox(self.tasks, self._write, self._end)

    async def _write(self, chunk: bytes) -> None:
        await self.reading.wait()
        if self.gone:
            raise ConnectionResetError
        self.chunks.append(chunk)

    async def _end(self) -> None:
        self.ended = True

    @property
    def got(self) -> list[str]:
        return b"".join(self.chunks).decode().split()


async def test_what_is_put_in_comes_out_in_order_and_no_task_stays() -> None:
    reader = Reader()
    reader.outbox.notice(b"a ", None)
    reader.outbox.must(b"b ")
    reader.outbox.notice(b"c ", "key")
    await reader.outbox.flushed()
    assert reader.got == ["a", "b", "c"]
    await settle()
    assert (len(reader.tasks), len(reader.outbox), reader.outbox.idle) == (0, 0, True)


async def test_a_stuck_client_gets_the_latest_of_each_key_and_every_answer_in_order() -> None:
    reader = Reader()
    reader.reading.clear()
    for number in range(1_000):
        reader.outbox.notice(b"p%d " % number, "progress")
    for number in range(50):
        reader.outbox.notice(b"log%d " % number, None)
    assert len(reader.outbox) < 200
    reader.outbox.must(b"answer ")
    reader.reading.set()
    await reader.outbox.flushed()
    assert reader.got[-2:] == ["p999", "answer"]
    numbers = [int(word[1:]) for word in reader.got if word.startswith("p")]
    assert numbers == sorted(numbers)
    assert reader.outbox.dropped == 50


async def test_bytes_count_as_well_as_messages() -> None:
    reader = Reader()
    reader.reading.clear()
    for number in range(100):
        reader.outbox.notice(b"x" * 100_000 + b" ", "same" if number else None)
    assert len(reader.outbox) < 10
    reader.outbox.abandon()
    await settle()


async def test_the_end_comes_after_what_waits_and_nothing_after_the_end() -> None:
    reader = Reader()
    reader.reading.clear()
    reader.outbox.notice(b"a ", None)
    reader.outbox.finish()
    reader.outbox.notice(b"late ", None)
    reader.outbox.must(b"late ")
    await settle()
    assert reader.ended is False
    reader.reading.set()
    await reader.outbox.flushed()
    assert (reader.got, reader.ended) == (["a"], True)


async def test_a_client_that_is_gone_is_written_to_no_more() -> None:
    reader = Reader()
    reader.gone = True
    reader.outbox.must(b"a ")
    await reader.outbox.flushed()
    reader.outbox.must(b"b ")
    assert (reader.outbox.broken, len(reader.outbox), reader.ended) == (True, 0, False)


async def test_abandoning_ends_a_stuck_write() -> None:
    reader = Reader()
    reader.reading.clear()
    reader.outbox.must(b"a ")
    reader.outbox.must(b"b ")
    await settle()
    reader.outbox.abandon()
    await settle()
    assert (len(reader.tasks), len(reader.outbox)) == (0, 0)
    Reader().outbox.abandon()
