"""The seam between the front and what serves HTTP, in its ASGI form."""

from __future__ import annotations

import pytest

from emceepee.front.exchange import AsgiExchange, BodyTooLarge, ClientGone, header
from tests.support.asgi_client import AsgiAnswer


def exchanging(*parts: bytes, whole: bool = True) -> tuple[AsgiExchange, AsgiAnswer]:
    answer = AsgiAnswer("POST", "/mcp", [(b"a", b"1"), (b"a", b"2")], None)
    for number, part in enumerate(parts):
        answer.send_body(part, more=not (whole and number == len(parts) - 1))
    return AsgiExchange(answer.scope, answer.receive, answer.send), answer


@pytest.mark.parametrize("parts", [(b"abcdef",), (b"abc", b"def"), (b"", b"abcdef", b"")])
async def test_a_body_is_put_together_up_to_its_limit(parts: tuple[bytes, ...]) -> None:
    assert await exchanging(*parts)[0].read_body(6, 5.0) == b"abcdef"
    with pytest.raises(BodyTooLarge):
        await exchanging(*parts)[0].read_body(5, 5.0)


async def test_a_client_that_leaves_within_its_body_is_gone() -> None:
    exchange, answer = exchanging(b"abc", whole=False)
    received = answer.receive

    async def receive() -> dict[str, object]:
        event = await received()
        answer.leave()
        return event

    leaving = AsgiExchange(answer.scope, receive, answer.send)
    with pytest.raises(ClientGone):
        await leaving.read_body(10, 5.0)
    await exchange.gone()


async def test_an_answer_goes_out_whole_or_in_parts() -> None:
    exchange, answer = exchanging(b"")
    await exchange.answer(201, [(b"x", b"y")], b"body")
    assert (answer.status, answer.headers, answer.body, answer.complete) == (201, {"x": "y"}, b"body", True)
    exchange, answer = exchanging(b"")
    await exchange.start(200, [])
    await exchange.write(b"a")
    await exchange.write(b"b")
    assert answer.complete is False
    await exchange.end()
    assert (answer.body, answer.complete) == (b"ab", True)


async def test_a_complete_answer_counts_as_gone() -> None:
    exchange, _ = exchanging(b"")
    await exchange.read_body(1, 5.0)
    await exchange.answer(200, [], b"")
    await exchange.gone()


def test_the_first_value_of_a_header_counts() -> None:
    exchange, _ = exchanging(b"")
    assert (header(exchange.headers, b"a"), header(exchange.headers, b"b")) == ("1", None)
