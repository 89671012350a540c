"""The latest message of each key, for a client that cannot take them now.

It writes nothing. The one rule: bounded in number and in bytes, because a server chooses both; what does not fit is
refused, and the one who put it says so where that matters.
"""

from __future__ import annotations

from typing import Final

MAX_MESSAGES: Final = 2_048
"""More than a session may subscribe to, so that no subscribed resource is lost."""
MAX_BYTES: Final = 4 * 1024 * 1024


class Latest:
    __slots__ = ("_bytes", "_messages")

    def __init__(self) -> None:
        self._messages: dict[str, bytes] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, key: str, message: bytes) -> bool:
        """Replace what this key had. False when there is no room; then it keeps what it had."""
        before = self._messages.get(key)
        size = self._bytes + len(message) - (0 if before is None else len(before))
        if size > MAX_BYTES or (before is None and len(self._messages) >= MAX_MESSAGES):
            return False
        self._messages[key] = message
        self._bytes = size
        return True

    def drop(self, key: str) -> bool:
        """Forget what this key had; whether it had anything."""
        before = self._messages.pop(key, None)
        self._bytes -= 0 if before is None else len(before)
        return before is not None

    def items(self) -> list[tuple[str, bytes]]:
        """In the order in which the keys came."""
        return list(self._messages.items())
