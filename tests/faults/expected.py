"""The fault matrix as it has to be: what a client is told in each cell, written down before anything is run.

A row is a fault behind one transport. Its columns are what the client was in the middle of; a cell says what a call is
told that is made while the server is broken, and before a slash what became of what was under way (a call; or an answer
to a question, and the task that it belongs to). `a|b` is one or the other: whether the loss was noticed before the call
was written is nobody's to decide. The last column is how long after the server is whole again a connection is there
without any call, at most, in seconds of the fast clock; the next call is then always answered, a subscription is heard
again, and no question is left open. A row that makes no sense has its reason instead.

The one rule: nothing here was copied from a run that was not understood.
"""

from __future__ import annotations

from dataclasses import dataclass

TRANSPORTS = ("HTTP legacy", "HTTP modern", "HTTP+SSE", "stdio")
STATES = ("idle", "call running", "ask pending", "subscribed")

NO_STATUS = "= a pipe has no HTTP status"
NO_PORT = "= a pipe has no port"
NO_SESSION = "= servers of this era have no sessions that could be forgotten"
NO_EXIT = "= over HTTP nobody sees how a process ended: on the wire it is 'refused', and SIGKILL"
NO_CHILD = (
    "= only of a child of ours one knows that it ended soon after its start; over HTTP it is 'refused', again and again"
)
NO_ASK = "a server of this era asks in its answers: while a person thinks, nothing is open at the server"

TABLE = f"""
refused                 | HTTP legacy | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
refused                 | HTTP modern | unavailable         | unknown / unavailable         | -                            | unavailable         | 20
refused                 | HTTP+SSE    | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
refused                 | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
reset before the answer | HTTP legacy | unavailable|unknown | unknown / unavailable|unknown | gone, failed / unavailable|unknown | unavailable|unknown | 20
reset before the answer | HTTP modern | unknown             | unknown / unavailable|unknown | -                            | unavailable|unknown | 20
reset before the answer | HTTP+SSE    | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
reset before the answer | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
reset in the middle     | HTTP legacy | unknown             | unknown / unavailable|unknown | gone, failed / unavailable|unknown | unknown             | 20
reset in the middle     | HTTP modern | unknown             | unknown / unavailable|unknown | -                            | unavailable|unknown | 20
reset in the middle     | HTTP+SSE    | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
reset in the middle     | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
hang                    | HTTP legacy | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
hang                    | HTTP modern | timeout             | timeout / timeout             | -                            | timeout             | 20
hang                    | HTTP+SSE    | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
hang                    | stdio       | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
slow loris              | HTTP legacy | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
slow loris              | HTTP modern | timeout             | timeout / timeout             | -                            | timeout             | 20
slow loris              | HTTP+SSE    | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
slow loris              | stdio       | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
500                     | HTTP legacy | unknown             | unknown / unavailable|unknown | taken, failed / unknown      | unknown             | 20
500                     | HTTP modern | unknown             | unknown / unavailable|unknown | -                            | unknown             | 20
500                     | HTTP+SSE    | unknown             | unknown / unknown             | taken, failed / unknown      | unknown             | 20
500                     | stdio       | {NO_STATUS}
404 session             | HTTP legacy | ok                  | ok / ok                       | gone, failed / ok            | ok                  | 20
404 session             | HTTP modern | {NO_SESSION}
404 session             | HTTP+SSE    | ok                  | ok / ok                       | gone, failed / ok            | ok                  | 20
404 session             | stdio       | {NO_STATUS}
401                     | HTTP legacy | auth                | auth / auth                   | taken, failed / auth         | auth                | 20
401                     | HTTP modern | auth                | auth / auth                   | -                            | auth                | 20
401                     | HTTP+SSE    | auth                | auth / auth                   | taken, failed / auth         | auth                | 20
401                     | stdio       | {NO_STATUS}
rubbish                 | HTTP legacy | violation           | violation / violation         | taken, expired / violation   | violation           | 20
rubbish                 | HTTP modern | violation           | violation / violation         | -                            | violation           | 20
rubbish                 | HTTP+SSE    | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
rubbish                 | stdio       | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
oversized               | HTTP legacy | violation           | violation / violation         | taken, expired / violation   | violation           | 20
oversized               | HTTP modern | violation           | violation / violation         | -                            | violation           | 20
oversized               | HTTP+SSE    | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
oversized               | stdio       | violation           | violation / violation         | taken, expired / refused     | violation           | 20
exit 0                  | HTTP legacy | {NO_EXIT}
exit 0                  | HTTP modern | {NO_EXIT}
exit 0                  | HTTP+SSE    | {NO_EXIT}
exit 0                  | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
exit 1                  | HTTP legacy | {NO_EXIT}
exit 1                  | HTTP modern | {NO_EXIT}
exit 1                  | HTTP+SSE    | {NO_EXIT}
exit 1                  | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
SIGKILL                 | HTTP legacy | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 40
SIGKILL                 | HTTP modern | unavailable         | unknown / unavailable         | -                            | unavailable         | 40
SIGKILL                 | HTTP+SSE    | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 40
SIGKILL                 | stdio       | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
SIGSTOP                 | HTTP legacy | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
SIGSTOP                 | HTTP modern | timeout             | timeout / timeout             | -                            | timeout             | 20
SIGSTOP                 | HTTP+SSE    | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
SIGSTOP                 | stdio       | timeout             | timeout / timeout             | taken, expired / task        | timeout             | 20
crash loop              | HTTP legacy | {NO_CHILD}
crash loop              | HTTP modern | {NO_CHILD}
crash loop              | HTTP+SSE    | {NO_CHILD}
crash loop              | stdio       | unavailable         | unknown / unavailable         | gone, failed / unavailable   | unavailable         | 20
other tools             | HTTP legacy | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
other tools             | HTTP modern | ok                  | unknown / ok                  | -                            | ok                  | 20
other tools             | HTTP+SSE    | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
other tools             | stdio       | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
other version           | HTTP legacy | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
other version           | HTTP modern | ok                  | unknown / ok                  | -                            | ok                  | 20
other version           | HTTP+SSE    | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
other version           | stdio       | ok                  | unknown / ok                  | gone, failed / ok            | ok                  | 20
port taken              | HTTP legacy | violation           | unknown / violation           | gone, failed / violation     | violation           | 20
port taken              | HTTP modern | violation           | unknown / violation           | -                            | violation           | 20
port taken              | HTTP+SSE    | violation           | unknown / violation           | gone, failed / violation     | violation           | 20
port taken              | stdio       | {NO_PORT}
"""  # noqa: E501 -- a table


@dataclass(frozen=True)
class Wanted:
    during: tuple[str, ...] = ()
    running: str = "-"
    again: str = "-"
    within: float = 0.0
    no_sense: str = ""
    """Why there is no such cell."""


def _cell(fault: str, transport: str, state: str, text: str, within: float) -> Wanted:
    if text == "-":
        assert (transport, state) == ("HTTP modern", "ask pending")
        return Wanted(no_sense=NO_ASK)
    running, _, during = text.rpartition(" / ")
    again = {"ask pending": "none pending", "subscribed": "heard"}.get(state, "-")
    if fault == "other tools" and state != "ask pending":
        again = "ok"
    return Wanted(tuple(during.split("|")), running or "-", again, within)


def _read() -> dict[tuple[str, str, str], Wanted]:
    found: dict[tuple[str, str, str], Wanted] = {}
    for line in TABLE.strip().splitlines():
        fault, transport, rest = (part.strip() for part in line.split(" | ", 2))
        if rest.startswith("= "):
            found |= {(fault, transport, state): Wanted(no_sense=rest[2:]) for state in STATES}
            continue
        *cells, within = (part.strip() for part in rest.split(" | "))
        for state, text in zip(STATES, cells, strict=True):
            found[fault, transport, state] = _cell(fault, transport, state, text, float(within))
    return found


EXPECTED = _read()
FAULTS = tuple(dict.fromkeys(fault for fault, _, _ in EXPECTED))
