"""What every part of the front works with, built once by the composition root and handed on whole.

It decides nothing. The one rule: everything here lives as long as the front does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from emceepee.front.kept_streams import KeptStreams
from emceepee.front.settings import FrontSettings
from emceepee.relay.hold import Told
from emceepee.relay.surface import OnEnd, OnNotice, Surface
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.handles import not_found
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import Scope
from emceepee.vocabulary.outcomes import Begun

Place: TypeAlias = Callable[[str, str], Scope]
"""The scope behind the handle of a workspace, for a principal. Raises `ClientFault` where it is not his."""


Carry: TypeAlias = Callable[[Surface, Call, OnNotice | None], Coroutine[Any, Any, Told]]
"""As `Surface.carry`, for clients that come back with what a call needs."""


BeginCall: TypeAlias = Callable[[Surface, Call, OnNotice | None, OnEnd], Begun | None]
"""As `Surface.begin`, for the same clients."""


def begun_straight(surface: Surface, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
    """Nobody comes back."""
    return surface.begin(call, on_notice, ended)


def straight(surface: Surface, call: Call, on_notice: OnNotice | None) -> Coroutine[Any, Any, Told]:
    """Nobody comes back."""
    return surface.carry(call, on_notice)


Returned: TypeAlias = Callable[[float], Coroutine[Any, Any, None]]
"""Waits until every client who was sent away has come back, at most that long."""


async def nobody_is_away(seconds: float) -> None:
    """Nobody was sent away."""


def nowhere(handle: str, principal: str) -> Scope:
    """There are no workspaces."""
    raise not_found(handle)


@dataclass(slots=True)
class Shop:
    clock: Clock
    server_info: Raw
    """How we introduce ourselves, as `Implementation`."""
    settings: FrontSettings = field(default_factory=FrontSettings)
    tasks: TaskScope = field(default_factory=lambda: TaskScope("front"))
    place: Place = nowhere
    carry: Carry = straight
    begin: BeginCall = begun_straight
    returned: Returned = nobody_is_away
    leaving: bool = False
    """We are about to go down: only clients who come back are served."""
    draining: bool = False
    kept_streams: KeptStreams = field(init=False)

    def __post_init__(self) -> None:
        self.kept_streams = KeptStreams(self.settings, self.clock)

    def placed(self, caller: Caller, handle: str | None) -> Caller:
        """The caller, in the workspace that he named."""
        return caller if handle is None else replace(caller, scope=self.place(handle, caller.principal))
