"""The life of one connection to one server: connect, watch, doubt, try again, stop.

It knows which link there is and what happens when there is none; who may use the link is the pool's, how a link comes
about the dialer's, when the next attempt is due the waiting room's.

The one rule: one supervisor has at most one link and at most one attempt, and whoever waits, waits for that one. What
was closed on purpose is never lost, and starts nothing (X-BUG-31, X-BUG-32).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterator
from typing import Protocol

from emceepee.backends.connection import Link
from emceepee.backends.definition import ServerDefinition, StdioLaunch
from emceepee.backends.http_answers import SessionGone
from emceepee.backends.leases import Leases
from emceepee.backends.lifecycle import Absence, Life, Status, Step, after, shown
from emceepee.backends.recovery import RecoverySettings
from emceepee.backends.waiting_room import WaitingRoom
from emceepee.errors import BackendFault, BackendTimeout, BackendUnavailable, OutcomeUnknown
from emceepee.runtime.clock import Clock, iso
from emceepee.runtime.patience import wait_at_most
from emceepee.runtime.spawn import TaskScope, bounded
from emceepee.vocabulary.asks import NO_ASKS, AskProfile
from emceepee.vocabulary.names import Scope
from emceepee.vocabulary.profiles import profile_text

_log = logging.getLogger("emceepee.backends")

CLOSE_SECONDS = 5.0
"""One hanging server must not hold up the closing of the others."""

_DRAIN_PAUSE = 1.0
_GIVEN_UP = "Max reconnection attempts reached"


class Owner(Protocol):
    """What a supervisor needs of the pool."""

    def current(self, definition: ServerDefinition) -> bool:
        """Whether this is still how the server is defined."""
        ...

    def outdated(self, definition: ServerDefinition) -> bool: ...

    async def dial(self, supervisor: Supervisor) -> tuple[Link, bool]: ...

    def reached(self, supervisor: Supervisor, for_everyone: bool) -> None: ...

    def lost(self, supervisor: Supervisor) -> None:
        """Its users are to be told that what the link carried is lost."""
        ...

    def expired(self, supervisor: Supervisor) -> None:
        """The server forgot the session; what it carried is lost unless it is there again at once."""
        ...

    def health(self, supervisor: Supervisor, why: str | None) -> None:
        """It does not answer our probes (why), or does again (None)."""
        ...


class Supervisor:
    """Implements `waiting_room.Patient`."""

    def __init__(
        self,
        definition: ServerDefinition,
        owner: Owner,
        room: WaitingRoom,
        tasks: TaskScope,
        clock: Clock,
        settings: RecoverySettings,
        profile: AskProfile = NO_ASKS,
    ) -> None:
        self.definition = definition
        self.profile = profile
        """What its server may ask."""
        self.users: set[tuple[Scope, AskProfile]] = set()
        """Who wants it: while there is nobody, it is not made anew."""
        self.leases: Leases | None = None
        """The sessions beside its own, where each call has one."""
        self.life: Life = "stopped"
        self.current_link: Link | None = None
        self.attempt: asyncio.Task[Link | BackendFault] | None = None
        self.epoch: object = None
        """Another one for each time that it came to be ready; who was attached in an earlier one missed something."""
        self.connects = 0
        self._owner = owner
        self._room = room
        self._tasks = tasks
        self._clock = clock
        self._settings = settings
        self._absence: Absence = "not_connected"
        self._since: str | None = None
        self._connected_at: str | None = None
        self._connected = 0.0
        self._last_error: str | None = None
        self._former: Link | None = None
        self._for_everyone = False
        self._leaving: set[Link] = set()
        self._unnoticed = False
        self._ends = 0
        self._began = float("-inf")
        self._doubting: asyncio.Task[None] | None = None
        self._round_trip: float | None = None
        self._waiters = 0
        self._asked = (-1, float("-inf"))
        self.probes = 0
        """Of the current link, and of those before it: questions that nobody but us has put."""
        self._closed = False

    @property
    def scopes(self) -> Collection[Scope]:
        return _Scopes(self.users)

    @property
    def busy(self) -> bool:
        """Whether there is a link, or will be without anybody asking."""
        return self.life != "stopped"

    @property
    def crash_loop(self) -> bool:
        return self._ends >= self._settings.crash_loop_after

    def _step(self, step: Step) -> None:
        life = after(self.life, step)
        if life != self.life:
            self._since = iso(self._clock.wall())
        self.life = life

    # -- for whoever needs it

    async def link(self, limit: float) -> Link:
        """A usable link, at the latest after `limit` seconds. Raises `BackendFault`."""
        self._waiters += 1
        try:
            return await self._await_link(limit)
        finally:
            self._waiters -= 1

    async def _await_link(self, limit: float) -> Link:
        if self._doubting is not None:
            await self._await_certainty(self._doubting, limit)
        link = self.current_link
        if link is not None and link.alive and not self._owner.outdated(self.definition):
            return link
        if self.attempt is None:
            self._refuse_in_a_crash_loop()
            self._room.leave(self)
            self.begin()
        assert self.attempt is not None
        attempt = self.attempt
        if not await wait_at_most(self._clock, (attempt,), limit):
            raise BackendTimeout(
                self.definition.name,
                f"still connecting after {limit:g} s; the attempt goes on, so try again in a moment",
            )
        if attempt.cancelled():
            raise BackendUnavailable(self.definition.name, "it was removed while connecting")
        found = attempt.result()
        if isinstance(found, BackendFault):
            raise found
        return found

    async def _await_certainty(self, doubting: asyncio.Task[None], limit: float) -> None:
        if not await wait_at_most(self._clock, (doubting,), limit):
            detail = f"it takes nothing new, and was given {limit:g} s to do so; it may be finishing what it has"
            raise BackendTimeout(self.definition.name, detail)

    def _refuse_in_a_crash_loop(self) -> None:
        """Whoever calls may start it at once, but not at every call a program that ends again and again."""
        if not self.crash_loop or self._clock.now() - self._began >= self._settings.first_delay:
            return
        wait = "" if self._room.next_try is None else f"; next try in {self._room.next_try - self._clock.now():.0f} s"
        raise BackendUnavailable(self.definition.name, f"{self._last_error}{wait}, or at once by reconnect_server")

    def begin(self) -> None:
        """Start an attempt; there must be none."""
        if self._closed:
            raise BackendUnavailable(self.definition.name, "the connection was closed")
        self._step("begin")
        self._began = self._clock.now()
        self.attempt = self._tasks.spawn(self._attempt(), f"connect:{self.definition.name}")

    # -- the waiting room's side

    def try_again(self) -> None:
        if self._closed or not self.users or not self._owner.current(self.definition):
            self._step("stop")
        elif self.attempt is None:
            self.begin()
        else:
            # Its last attempt is still clearing up.
            self._room.enter(self)

    def give_up(self) -> None:
        self._step("stop")
        self._last_error = f"{_GIVEN_UP}: {self._last_error}"
        data = {"server": self.definition.name, "attempts": self._room.attempts, "error": self._last_error}
        _log.warning("server_reconnect_given_up", extra={"data": data})

    def _wait_or_stop(self) -> None:
        if self._settings.automatic and self.users and not self._closed and self._owner.current(self.definition):
            self._step("wait")
            self._room.enter(self)
        else:
            self._step("stop")
            self._room.leave(self)

    # -- one attempt

    async def _attempt(self) -> Link | BackendFault:
        """To its end. Returns the fault instead of raising it: there may be nobody left to hear it."""
        lost, self._former = self._former, None
        former, self.current_link = lost or self.current_link, None
        try:
            link, for_everyone = await self._revived_or_dialled(lost)
            former = None if link is former else former
            if not self._owner.current(self.definition):
                # Removed or changed while we connected: what we reached is not what is configured now.
                await bounded(link.close(), CLOSE_SECONDS)
                self._step("stop")
                return BackendUnavailable(self.definition.name, "it was removed or changed while connecting")
            if former is not None:
                _forgo(former)
            self._succeeded(link, for_everyone)
            return link
        except OutcomeUnknown as fault:
            # Of the handshake, that is: nothing of what the caller wants has been asked yet.
            return self._failed(BackendUnavailable(fault.server, fault.detail))
        except BackendFault as fault:
            former = self._keep(former)
            return self._failed(fault)
        except Exception as error:  # noqa: BLE001 -- the wall: whatever a server made us do, its next attempt may begin
            _log.error("internal_error", exc_info=error, extra={"data": {"server": self.definition.name}})
            ours = "connecting failed by a mistake of ours, which is logged"
            return self._failed(BackendUnavailable(self.definition.name, ours))
        finally:
            try:
                if former is not None:
                    await bounded(former.close(), CLOSE_SECONDS)
            finally:
                # Only now may another one begin.
                self.attempt = None
                if self.life == "starting":
                    self._step("stop")

    async def _revived_or_dialled(self, lost: Link | None) -> tuple[Link, bool]:
        """The link, and whether it is for everyone. The session that was lost is tried first (X-CON-17)."""
        if lost is not None and lost.lasting and not self._unnoticed and await self._still_there(lost):
            return lost, self.definition.affinity == "shared"
        link, for_everyone = await self._owner.dial(self)
        if not link.alive:
            # It went between its last word and this one (X-BUG-30).
            await bounded(link.close(), CLOSE_SECONDS)
            raise BackendUnavailable(self.definition.name, "it went away as soon as it was connected")
        return link, for_everyone

    async def _still_there(self, former: Link) -> bool:
        """Raises `BackendFault` where the server itself is not there."""
        try:
            await former.ping(self.definition.connect_timeout)
        except SessionGone:
            return False
        except BackendFault as fault:
            if isinstance(fault, BackendUnavailable | BackendTimeout | OutcomeUnknown):
                raise
            return False
        former.alive = True
        return True

    def _keep(self, former: Link | None) -> Link | None:
        """Of a server that is away the session is kept: it may be there again. None when it is kept."""
        if former is None or not former.lasting or self._unnoticed or self._closed:
            return former
        self._former = former
        return None

    def _succeeded(self, link: Link, for_everyone: bool) -> None:
        self._step("ready")
        self.current_link = link
        self._for_everyone = for_everyone
        link.on_doubt = self.doubt
        self.epoch = object()
        self.connects += 1
        self._connected = self._clock.now()
        self._connected_at = iso(self._clock.wall())
        self._last_error = None
        self._unnoticed = False
        self._absence = "disconnected"
        data = {"server": self.definition.name, "url": self.definition.address, "asks": profile_text(self.profile)}
        _log.info("server_connected", extra={"data": data})
        self._owner.reached(self, for_everyone)
        self._room.reached(self)

    def _failed(self, fault: BackendFault) -> BackendFault:
        if isinstance(self.definition.launch, StdioLaunch):
            self._ends += 1
        self._note_error(fault.detail)
        again = self.connects > 0 or self._room.attempts > 0
        data = {"server": self.definition.name, "error": self._last_error}
        if again:
            _log.warning("server_reconnect_failed", extra={"data": data | {"attempt": self._room.attempts}})
        else:
            _log.warning("server_connect_failed", extra={"data": data})
        if self.connects == 0:
            self._absence = "error"
        if self._unnoticed:
            self._unnoticed = False
            self._owner.lost(self)
        self._wait_or_stop()
        return fault

    def _note_error(self, detail: str) -> None:
        loop = f"; it ended {self._ends} times in a row soon after its start" if self.crash_loop else ""
        self._last_error = f"{detail}{loop}"

    # -- losing it

    def lost(self, link: Link, fault: BackendFault) -> None:
        """A link says that it is gone, or was found to be."""
        if self.current_link is not link:
            if self._former is not link:
                self._let_go(link)
            return
        self.current_link = None
        link.alive = False
        if isinstance(fault, SessionGone):
            self._session_gone(link)
            return
        self._count_its_end()
        self._note_error(fault.detail)
        self._absence = "disconnected" if isinstance(fault, BackendUnavailable) else "error"
        _log.info("server_disconnected", extra={"data": {"server": self.definition.name, "reason": self._last_error}})
        if link.lasting:
            self._former = link
        else:
            self._let_go(link)
        self._owner.lost(self)
        self._wait_or_stop()

    def _let_go(self, link: Link) -> None:
        """Close what is lost, in the background; `close` does it if that never comes to begin."""
        self._leaving.add(link)
        self._tasks.spawn(self._close_lost(link), "close_lost")

    async def _close_lost(self, link: Link) -> None:
        await bounded(link.close(), CLOSE_SECONDS)
        self._leaving.discard(link)

    def _session_gone(self, link: Link) -> None:
        """The server is there and knows us no more. It is told as a loss only if it cannot be made good."""
        self._former = link
        self._unnoticed = True
        self._owner.expired(self)
        if self.attempt is None and not self._closed:
            self.begin()

    def _count_its_end(self) -> None:
        if self._clock.now() - self._connected >= self._settings.stable_after:
            self._ends = 0
            self._room.proved()
        else:
            self._ends += 1

    # -- doubting it

    def doubt(self, link: Link, fault: BackendFault) -> None:
        """A request failed. One that fails proves nothing: the server is asked whether it is there (X-BUG-42)."""
        if link is not self.current_link or self._doubting is not None or self._closed:
            return
        if not link.silent_death and not isinstance(fault, BackendTimeout):
            return
        if isinstance(fault, BackendUnavailable):
            # Nobody else needs to run into it meanwhile.
            link.alive = False
        self._doubting = self._tasks.spawn(self._make_sure(link), f"doubt:{self.definition.name}")
        self._doubting.add_done_callback(self._sure)

    def _sure(self, _: asyncio.Task[None]) -> None:
        self._doubting = None

    async def _make_sure(self, link: Link) -> None:
        until = self._clock.now() + self._settings.drain_seconds
        while True:
            fault = await self.probe(link, self._settings.verify_seconds)
            if fault is None or link is not self.current_link:
                return
            if link.pending == 0 or self._clock.now() >= until:
                self.lost(link, fault)
                return
            await self._clock.sleep(_DRAIN_PAUSE)

    async def probe(self, link: Link, seconds: float) -> BackendFault | None:
        """Ask whether it answers. Returns the fault that says that it is not there; everything else is only told."""
        self.probes += 1
        began = self._clock.now()
        try:
            await link.ping(seconds)
        except SessionGone:
            return None
        except BackendTimeout as fault:
            link.alive = True
            self._degraded(link, fault.detail)
            return None
        except (BackendUnavailable, OutcomeUnknown) as fault:
            return fault if link.silent_death else None
        except BackendFault:
            # It answers, if not to this.
            pass
        self._round_trip = self._clock.now() - began
        if link is self.current_link:
            link.alive = True
            self._restored()
        return None

    def due_for_probe(self) -> bool:
        """Whether anybody has used it lately, or waits for it, or it was found unwell."""
        link = self.current_link
        if link is None or self._doubting is not None or self._closed:
            return False
        asked, at = self._asked
        now = self._clock.now()
        if link.asked != asked:
            at = now
        due = self.life == "unwell" or link.pending > 0 or now - at < self._settings.probe_recent
        # Our own probe is a question as well, and no use.
        self._asked = link.asked + due, at
        return due

    async def look(self) -> None:
        """The regular probe."""
        link = self.current_link
        if link is not None:
            fault = await self.probe(link, self._settings.probe_seconds)
            if fault is not None:
                self.doubt(link, fault)

    def _degraded(self, link: Link, why: str) -> None:
        if link is self.current_link and self.life == "ready":
            self._step("degrade")
            self._last_error = why
            _log.warning("server_health_degraded", extra={"data": {"server": self.definition.name, "reason": why}})
            self._owner.health(self, why)

    def _restored(self) -> None:
        if self.life == "unwell":
            self._step("restore")
            self._last_error = None
            _log.info("server_health_restored", extra={"data": {"server": self.definition.name}})
            self._owner.health(self, None)

    # -- showing

    def status(self) -> Status:
        link = self.current_link
        next_try = self._room.next_try if self.life == "waiting" else None
        return Status(
            shown(self.life, self._absence),
            self._connected_at,
            self._last_error,
            link.about.revision if link is not None else None,
            self.connects,
            self.life,
            self._since,
            None if next_try is None else max(0.0, next_try - self._clock.now()),
            self._room.attempts,
            self.crash_loop,
            self._round_trip,
            self._waiters,
            link.pending if link is not None else 0,
            link.children if link is not None else (),
            link.rubbish if link is not None else 0,
            self._for_everyone,
        )

    # -- ending

    def forgo(self) -> None:
        """It is about to be closed, because another one takes its place."""
        if self.current_link is not None:
            _forgo(self.current_link)

    def forsake(self, scope: Scope) -> None:
        """One less who wants it; what nobody wants is not made anew."""
        self.users -= {user for user in self.users if user[0] == scope}
        if not self.users and self.life == "waiting":
            self._room.leave(self)
            self._step("stop")

    def rest(self) -> None:
        """Ended on purpose, because nobody has used it for long; the next use makes it anew."""
        link, self.current_link = self.current_link, None
        if link is None:
            return
        link.alive = False
        self._absence, self._last_error = "not_connected", None
        self._step("stop")
        _log.info("server_idle_stopped", extra={"data": {"server": self.definition.name}})
        leases, self.leases = self.leases, None
        self._let_go(link)
        if leases is not None:
            self._tasks.spawn(leases.close(), "close leases")

    async def close(self) -> None:
        self._closed = True
        self._room.leave(self)
        attempt, former, self._former = self.attempt, self._former, None
        link, self.current_link = self.current_link, None
        if attempt is not None:
            attempt.cancel()
            await asyncio.wait([attempt], timeout=CLOSE_SECONDS)
        elif self.life != "stopped":
            self._step("stop")
        if self._doubting is not None:
            self._doubting.cancel()
        leaving, self._leaving = self._leaving, set()
        if self.leases is not None:
            await self.leases.close()
        for one in (link, former, *leaving):
            if one is not None:
                await bounded(one.close(), CLOSE_SECONDS)


class _Scopes(Collection[Scope]):
    """Whose it is, now and later, without the profiles."""

    def __init__(self, users: Collection[tuple[Scope, AskProfile]]) -> None:
        self._users = users

    def __contains__(self, scope: object) -> bool:
        return any(user[0] == scope for user in self._users)

    def __iter__(self) -> Iterator[Scope]:
        return (user[0] for user in self._users)

    def __len__(self) -> int:
        return len(self._users)


def _forgo(link: Link) -> None:
    """Nothing begins on it any more, and what its server asked is given up."""
    link.alive = False
    link.void_asks()
