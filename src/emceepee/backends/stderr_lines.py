"""What a child says on stderr, as lines for people: bounded in length and in number.

It keeps the last line, which is the best word on why a server died.

The one rule: however much a child says, what is kept and what is passed on stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

MAX_LINE = 4096
MAX_LINES_PER_SECOND = 100

_not_printed = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


class StderrLines:
    def __init__(self, hide: Callable[[str], str] = str) -> None:
        self._hide = hide
        self.last = ""
        self._partial = b""
        self._second = 0.0
        self._said = 0
        self._left_out = 0

    def feed(self, chunk: bytes, now: float) -> Iterator[str]:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line, self._partial = self._partial + piece[:MAX_LINE], b""
            yield from self._pass_on(line, now)
        self._partial = (self._partial + rest[:MAX_LINE])[:MAX_LINE]

    def end(self, now: float) -> Iterator[str]:
        line, self._partial = self._partial, b""
        return self._pass_on(line, now)

    def _pass_on(self, raw: bytes, now: float) -> Iterator[str]:
        line = _not_printed.sub("", raw[:MAX_LINE].decode("utf-8", "replace")).rstrip()
        line = self._hide(line)
        if not line:
            return
        self.last = line
        if now - self._second >= 1:
            self._second, self._said = now, 0
            if self._left_out:
                yield f"({self._left_out} lines left out)"
                self._left_out = 0
        self._said += 1
        if self._said > MAX_LINES_PER_SECOND:
            self._left_out += 1
        else:
            yield line
