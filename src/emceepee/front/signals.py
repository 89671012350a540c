"""What SIGTERM and SIGINT do while somebody is served: they ask for an end in good order. SIGHUP asks for what whoever
serves has to do for it, if anything.

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
def on_signals(stop: Callable[[], None], again: Callable[[], None] | None = None) -> Iterator[None]:
    """Call `stop` for each signal that comes until the block is left, and `again` for SIGHUP, if it is given."""
    loop = asyncio.get_running_loop()
    wanted = dict.fromkeys(SIGNALS, stop)
    if again is not None and hasattr(signal, "SIGHUP"):
        wanted[signal.SIGHUP] = again
    installed: list[signal.Signals] = []
    try:
        for number, act in wanted.items():
            # Neither Windows nor a thread other than the main one can; there Ctrl-C still ends the loop.
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, act)
                installed.append(number)
        yield
    finally:
        for number in installed:
            loop.remove_signal_handler(number)
