"""What can go wrong in a conversation that is nobody's answer: misuse by our own code, and nothing else.

What the other side does wrong is never raised: it is an event (`Stray`, `Refused`) or the end of an ask, because a peer
that misbehaves must not be able to break the reader of everybody else's messages.
"""

from __future__ import annotations


class LocalMisuse(Exception):
    """Our own code broke the rules of `Peer`; a bug of ours, never of the other side."""


class PeerClosed(LocalMisuse):
    """Asked after the conversation was closed. Nothing was written, nothing is pending."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The conversation is closed: {reason}")
        self.reason = reason
