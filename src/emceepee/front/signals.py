"""What SIGTERM and SIGINT do while somebody is served: they ask for an end in good order.

It ends nothing itself. The one rule: for as long as there is something to close, a signal asks and never kills, so that
whoever is impatient and signals twice still leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` for each signal that comes until the block is left."""
    loop = asyncio.get_running_loop()
    installed: list[signal.Signals] = []
    try:
        for number in SIGNALS:
            # Neither Windows nor a thread other than the main one can; there Ctrl-C still ends the loop.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, stop)
                installed.append(number)
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)
