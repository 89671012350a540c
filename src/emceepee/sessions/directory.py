"""Which sessions there are.

It is not what a session does. The one rule: a session that ends is taken out first and cleaned up after, once, so that
no request reaches a half-dead one and no second sweep finds it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec import Raw

from emceepee.errors import LimitReached
from emceepee.runtime.clock import Clock, Timer
from emceepee.runtime.ids import Ids
from emceepee.runtime.spawn import TaskScope
from emceepee.sessions.expiry import is_idle
from emceepee.sessions.in_flight import InFlight
from emceepee.sessions.session import Session, label
from emceepee.sessions.settings import SessionSettings
from emceepee.vocabulary.asks import Ear
from emceepee.vocabulary.calls import Caller
from emceepee.vocabulary.names import SessionId
from emceepee.vocabulary.profiles import NO_ASKS, AskProfile
from emceepee.vocabulary.raw_json import Fields

_log = logging.getLogger("emceepee.sessions")

Clean: TypeAlias = Callable[[Session], Awaitable[None]]
"""Ends what hangs on a session that is already out of the directory. Must not raise; if it does, that is logged."""

_CLEANING_LIMIT = 15.0
"""A backend that hangs while being closed must not hold the sweep; what is left ends with the process."""


class Directory:
    """All sessions of this process, by id."""

    def __init__(self, clock: Clock, ids: Ids, settings: SessionSettings | None = None) -> None:
        self.settings = settings or SessionSettings()
        self._clock = clock
        self._ids = ids
        self._slot = ids.slot()
        self._sessions: dict[SessionId, Session] = {}
        self._cleaning = TaskScope("sessions")
        self._timer: Timer | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def cleaning(self) -> int:
        """How many ended sessions are still being cleaned up."""
        return len(self._cleaning)

    def session_ids(self) -> list[SessionId]:
        return list(self._sessions)

    def sessions(self) -> list[Session]:
        return list(self._sessions.values())

    def principal_of(self, session_id: SessionId) -> str | None:
        session = self._sessions.get(session_id)
        return None if session is None else session.caller.principal

    def asks_of(self, session_id: SessionId) -> AskProfile:
        """What the client of a session said that it can be asked."""
        session = self._sessions.get(session_id)
        return NO_ASKS if session is None else session.asks

    def ear_of(self, session_id: SessionId) -> Ear | None:
        """The client of a session, where it can be asked."""
        session = self._sessions.get(session_id)
        return None if session is None else session.asking

    def has(self, session_id: SessionId) -> bool:
        return session_id in self._sessions

    def new_id(self) -> SessionId:
        """The slot names this process for whoever routes between several; the rest is secret."""
        return f"{self._slot}.{self._ids.secret()}"

    def open(
        self, surface: str, principal: str, revision: str, capabilities: Fields, client_info: Raw | None = None
    ) -> Session:
        """Register a new session. Raises `LimitReached`, also while shutting down."""
        if self._closed or len(self._sessions) >= self.settings.max_sessions:
            raise LimitReached("sessions", self.settings.max_sessions)
        # What was decoded still holds on to the whole message; a copy lets that go.
        kept = {name: value.copy() for name, value in capabilities.items()}
        info = None if client_info is None else client_info.copy()
        caller = Caller(self.new_id(), principal, kept, info)
        session = Session(surface, caller, revision, InFlight(self.settings.max_in_flight), self._clock.now())
        session.created_at = self._clock.wall()
        self._sessions[session.id] = session
        declared = [name for name in ("elicitation", "sampling", "roots") if name in kept]
        said = {"sessionId": label(session.id), "surface": surface, "mayBeAsked": declared}
        _log.info("session_created", extra={"data": said})
        return session

    def find(self, session_id: SessionId, principal: str, surface: str) -> Session | None:
        """The session, if it is this principal's and was opened on this surface; else it does not exist for them."""
        session = self._sessions.get(session_id)
        if session is None or session.caller.principal != principal or session.surface != surface:
            return None
        return session

    def touch(self, session_id: SessionId) -> None:
        """Something began or ended in it. Unknown ids are fine."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.last_activity = self._clock.now()

    def end(self, session_id: SessionId, clean: Clean) -> asyncio.Task[None] | None:
        """Take it out now and clean it up in the background; the task is the cleaning. None when there is none."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return None
        session.step("end")
        _log.info("session_destroying", extra={"data": {"sessionId": label(session_id)}})
        return self._cleaning.spawn(self._clean(session, clean), f"clean {label(session_id)}")

    async def _clean(self, session: Session, clean: Clean) -> None:
        data = {"sessionId": label(session.id)}
        try:
            async with asyncio.timeout(_CLEANING_LIMIT):
                await clean(session)
        except TimeoutError:
            _log.warning("session_cleanup_stuck", extra={"data": data})
        _log.info("session_destroyed", extra={"data": data})

    def watch_idle(self, clean: Clean) -> None:
        """Sweep from now on, until `close()`. Idempotent."""
        if self._closed or self._timer is not None:
            return
        self._timer = self._clock.after(self.settings.sweep_every, lambda: self._swept(clean))

    def _swept(self, clean: Clean) -> None:
        self._timer = None
        self.sweep(clean)
        self.watch_idle(clean)

    def sweep(self, clean: Clean) -> int:
        """End every session that is idle; how many."""
        now, limit = self._clock.now(), self.settings.idle_limit
        over = [s.id for s in self._sessions.values() if is_idle(s.last_activity, s.busy, now, limit)]
        for session_id in over:
            _log.info("session_timeout_cleanup", extra={"data": {"sessionId": label(session_id)}})
            self.end(session_id, clean)
        return len(over)

    async def close(self, clean: Clean, grace: float = 10.0) -> None:
        """End all sessions; no new ones from now on. Idempotent."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for session_id in self.session_ids():
            self.end(session_id, clean)
        await self._cleaning.settle(grace)
        await self._cleaning.close()
