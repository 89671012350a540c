"""Our own misuse is raised, and says what was misused."""

from __future__ import annotations

from emceepee.protocol.faults import LocalMisuse, PeerClosed


def test_a_closed_conversation_says_why_it_was_closed() -> None:
    fault = PeerClosed("the child exited with 3")
    assert isinstance(fault, LocalMisuse)
    assert fault.reason == "the child exited with 3"
    assert str(fault) == "The conversation is closed: the child exited with 3"
