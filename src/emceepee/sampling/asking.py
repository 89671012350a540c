"""One question to a model with its time limit, tried again when the provider is overloaded, and only then.

The one rule: whatever was tried ends within the seconds that were given.
"""

from __future__ import annotations

import logging

from emceepee.runtime.backoff import Backoff
from emceepee.runtime.clock import Clock
from emceepee.runtime.deadline import Deadline
from emceepee.sampling.content import Json
from emceepee.sampling.model import Model
from emceepee.sampling.provider import Provider, ProviderAnswer, ProviderFailed

_log = logging.getLogger("emceepee.sampling")

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0


async def ask_patiently(
    provider: Provider, model: Model, params: Json, clock: Clock, seconds: float, retries: int
) -> ProviderAnswer:
    """Raises `ProviderFailed`: the last one, or `timed_out` when the time is over."""
    ends = clock.now() + seconds
    backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
    try:
        async with Deadline(clock, seconds):
            while True:
                try:
                    return await _ask_once(provider, model, params, ends - clock.now())
                except ProviderFailed as failed:
                    pause = max(backoff.next(), failed.retry_after or 0.0)
                    if failed.kind != "overloaded" or backoff.attempts > retries or clock.now() + pause >= ends:
                        raise
                await clock.sleep(pause)
    except TimeoutError:
        raise ProviderFailed("timed_out", f"after {seconds:g} s") from None


async def _ask_once(provider: Provider, model: Model, params: Json, seconds: float) -> ProviderAnswer:
    try:
        return await provider.ask(model, params, seconds)
    except ProviderFailed:
        raise
    except Exception as error:  # noqa: BLE001 - the wall: other people's libraries
        # Its words may hold what was sent; its class cannot.
        kind = type(error).__name__
        _log.error("sampling_provider_broken", extra={"data": {"provider": model.provider, "error": kind}})
        raise ProviderFailed("broken", kind) from None
