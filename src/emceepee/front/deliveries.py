"""What depends on one answer reaching its client, until that is known.

It does not find out; whoever writes the answer does. The one rule: each delivery is settled once, and what is never
said to have arrived is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from emceepee.vocabulary.outcomes import Delivery

T = TypeVar("T")

Promise: TypeAlias = Callable[[Delivery], None]
"""Takes a delivery whose answer is about to be written."""


class Deliveries:
    """Of one answer, or of one batch of them. Costs one empty list until something is promised."""

    __slots__ = ("_open", "_over")

    def __init__(self) -> None:
        self._open: list[Delivery] = []
        self._over = False

    def __bool__(self) -> bool:
        return bool(self._open)

    def promise(self, delivery: Delivery) -> None:
        if self._over:
            delivery.lost()
        else:
            self._open.append(delivery)

    def settle(self, arrived: bool) -> None:
        """The first time counts."""
        self._over = True
        waiting, self._open = self._open, []
        for delivery in waiting:
            if arrived:
                delivery.committed()
            else:
                delivery.lost()


def promised(delivery: Delivery | None, promise: Promise | None, write: Callable[[], T]) -> T:
    """The answer, and its delivery handed to whoever will send it. Without anybody, or when it cannot even be written,
    the delivery is lost."""
    if delivery is None:
        return write()
    try:
        written = write()
    except BaseException:
        delivery.lost()
        raise
    if promise is None:
        delivery.lost()
    else:
        promise(delivery)
    return written
