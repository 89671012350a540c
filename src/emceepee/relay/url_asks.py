"""Servers of a former revision that answer "first go to this address" instead of asking: error -32042.

The one rule: an address is shown and never gone to.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Raw

from emceepee.relay.open_asks import METHODS, check_answer
from emceepee.vocabulary.outcomes import Done, Failed, InputNeeded, Wanted
from emceepee.vocabulary.raw_json import Fields, NotThatShape, Payload, read_fields, read_items, read_text, to_raw

URL_REQUIRED = -32042
_DECLINED = -1
_MOST = 32


@dataclass(slots=True, frozen=True)
class Address:
    """One of them: by what its server knows it, and what a person is told."""

    id: str
    message: str
    url: str


def addresses_of(failed: Failed) -> list[Address]:
    """Those that can be shown; none where the error is another one."""
    if failed.code != URL_REQUIRED or failed.data is None:
        return []
    try:
        listed = read_items(read_fields(failed.data).get("elicitations") or Raw(b"[]"))
        found = [_address(read_fields(one)) for one in listed[:_MOST]]
    except NotThatShape:
        return []
    return [one for one in found if one is not None]


def _address(fields: Fields) -> Address | None:
    url, known_as = read_text(fields.get("url")), read_text(fields.get("elicitationId"))
    return None if url is None or known_as is None else Address(known_as, read_text(fields.get("message")) or "", url)


@dataclass(slots=True)
class ToVisit(InputNeeded):
    """Addresses that somebody has to visit first; its state is ours."""

    addresses: tuple[str, ...] = ()


def needed(addresses: list[Address]) -> ToVisit:
    wants = {f"u{n}": Wanted("elicitation", "url", _params(one)) for n, one in enumerate(addresses, 1)}
    method = METHODS["elicitation"]
    requests = {key: to_raw({"method": method, "params": one.params}) for key, one in wants.items()}
    return ToVisit(requests, wants, None, tuple(one.id for one in addresses))


def _params(one: Address) -> Raw:
    return to_raw({"mode": "url", "message": one.message, "url": one.url})


def refused_by_person(answers: Fields, count: int) -> bool | None:
    """Whether a person said no to one of them; None while one of them is not answered. Raises `ClientFault`."""
    actions: list[str | None] = []
    for key in (f"u{n}" for n in range(1, count + 1)):
        if key not in answers:
            actions.append(None)
            continue
        check_answer(key, "elicitation", answers[key])
        actions.append(read_text(read_fields(answers[key]).get("action")))
    if any(action in ("decline", "cancel") for action in actions):
        return True
    return None if None in actions else False


def declined(method: str) -> Done | Failed:
    """What the client is told then; its server is not called again."""
    text = "The user declined to open the address that this needs"
    if method != "tools/call":
        return Failed(_DECLINED, text)
    return Done(Payload.of({"content": [{"type": "text", "text": text}], "isError": True}))
