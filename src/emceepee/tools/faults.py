"""Why a question of a tool got no answer. Each is an error that a tool may catch, and go on without the answer.

The one rule: every question ends in an answer or in exactly one of these, within its time.
"""

from __future__ import annotations

from typing import Any

from emceepee.errors import EmceepeeError


class AskFailed(EmceepeeError):
    """Base of them all: `except AskFailed` is what a tool writes that can do without."""


class NotSupported(AskFailed):
    """The client did not declare that it can be asked this. Nothing was sent."""


class AskTimeout(AskFailed):
    """Nobody answered in time; the client was told that nobody waits any more."""


class ChannelClosed(AskFailed):
    """The client went away, or is not ready yet."""


class RemoteCancelled(AskFailed):
    """The client cancelled the question itself."""


class Refused(AskFailed):
    """The client answered with an error: somebody said no, or something went wrong there."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class Malformed(AskFailed):
    """What came back is no answer to this question."""


class ToolError(EmceepeeError):
    """Raised by a tool to say what went wrong, in words for the model that called it."""
