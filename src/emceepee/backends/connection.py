"""One scope's connection to one server, as the relay sees it: request, want, set the log level. What its server may ask
was said when it was made; a scope has one for each such profile that it uses.

It outlives the link behind it: when a link is lost and made anew, the handle, its wishes and its listener stay. It
knows no era; a `Link` does.

The one rule: what a scope wished is kept here and said again on every new link, because a server forgets its sessions
and we do not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol, TypeAlias

from emceepee.backends.carried import OnNotice as OnNotice
from emceepee.backends.carried import OnOutcome
from emceepee.backends.recovery import Identity
from emceepee.errors import BackendFault, BackendUnavailable
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import MAY_ASK, Call
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import NOTHING, Interest, ListChanged, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import Answered, Begun
from emceepee.vocabulary.raw_json import NotThatShape, read_fields, read_text

_log = logging.getLogger("emceepee.backends")

OnDoubt: TypeAlias = "Callable[[Link, BackendFault], None]"


class Link(Protocol):
    """One live conversation with a server, in its era; shared by several handles where the server keeps no sessions."""

    alive: bool
    """Whether it may be used now."""

    on_doubt: OnDoubt
    """To be told of what failed on it and may mean that the server is gone."""

    leased: bool
    """Whether it carries one call at a time."""

    on_asks_beside: Callable[[], None]
    """To be told that its server asks elsewhere than on the stream of the call."""

    @property
    def about(self) -> About: ...

    @property
    def identity(self) -> Identity: ...

    @property
    def lasting(self) -> bool:
        """Whether the session behind it may outlive the connections that carried it: then it is tried again first."""
        ...

    @property
    def silent_death(self) -> bool:
        """Whether its end makes no event here: nobody knows of it but by asking."""
        ...

    @property
    def pending(self) -> int:
        """Questions that the server has not answered yet."""
        ...

    @property
    def asked(self) -> int:
        """Questions so far."""
        ...

    @property
    def rubbish(self) -> int:
        """What came and was no message."""
        ...

    @property
    def children(self) -> tuple[int, ...]:
        """Processes of ours behind it."""
        ...

    async def ping(self, seconds: float) -> None:
        """Whether the server answers at all, with whatever. Raises `BackendFault` where it does not."""
        ...

    async def request(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None
    ) -> Answered: ...

    def begin(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None, ended: OnOutcome
    ) -> Begun | None:
        """`request` without waiting: `ended` is told, perhaps before this returns. None where something has to be
        waited for first. Raises `BackendFault` where nothing was asked."""
        ...

    async def want(self, who: Connection, interest: Interest) -> Interest: ...

    async def set_log_level(self, who: Connection, level: LogLevel) -> None: ...

    def void_asks(self) -> None:
        """What its server asked and was not answered yet is given up, because another link takes its place."""
        ...

    async def roots_changed(self) -> None:
        """Tell the server, if it was promised to be told. Raises `BackendFault`."""
        ...

    async def leave(self, who: Connection) -> None:
        """This handle needs it no more: what only it wished is withdrawn. Whether the link goes on is the pool's."""
        ...

    async def close(self) -> None: ...


class Leasing(Protocol):
    """Lends a session to one call at a time; `backends.leases` does."""

    async def take(self, seconds: float) -> Link: ...

    def give_back(self, link: Link) -> None: ...


class Connection:
    """The handle. `on_notice` receives what comes unasked; set by whoever listens for this scope."""

    __slots__ = ("_level", "_link", "epoch", "identity", "interest", "leases", "on_notice", "scope", "server")

    def __init__(self, server: ServerName, scope: Scope) -> None:
        self.server = server
        self.scope = scope
        self.on_notice: OnNotice | None = None
        self.interest: Interest = NOTHING
        self.epoch: object = None
        """Of the supervisor, when it was attached last."""
        self.identity: Identity | None = None
        """Who the server was then."""
        self._level: LogLevel | None = None
        self._link: Link | None = None
        self.leases: Leasing | None = None
        """Where each call has a session of its own."""

    @property
    def link(self) -> Link | None:
        link = self._link
        return link if link is not None and link.alive else None

    @property
    def alive(self) -> bool:
        return self.link is not None

    def holds(self, link: Link) -> bool:
        """Whether this is the link behind it, dead or alive."""
        return self._link is link

    @property
    def about(self) -> About:
        link = self.link
        return link.about if link is not None else About()

    def _live(self) -> Link:
        link = self.link
        if link is None:
            raise BackendUnavailable(self.server, "the connection is gone; the next use connects again")
        return link

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float) -> Answered:
        """Raises `errors.BackendFault` where the server did not answer."""
        if self.leases is not None and call.method in MAY_ASK:
            return await self._leased(self.leases, call, on_notice, timeout)
        return await self._live().request(call, on_notice, timeout, self._level)

    async def _leased(self, leases: Leasing, call: Call, on_notice: OnNotice | None, timeout: float) -> Answered:
        link = await leases.take(timeout)
        try:
            if self._level is not None:
                await link.set_log_level(self, self._level)
            return await link.request(call, on_notice, timeout, self._level)
        finally:
            leases.give_back(link)

    def begin(self, call: Call, on_notice: OnNotice | None, timeout: float, ended: OnOutcome) -> Begun | None:
        """`request` for one who does not wait; see `Link.begin`."""
        if self.leases is not None:
            return None
        link = self._link
        if link is None or not link.alive:
            link = self._live()
        return link.begin(call, on_notice, timeout, self._level, ended)

    async def want(self, interest: Interest) -> Interest:
        """Replace what this scope wants to be told of; returns what the server can deliver of it."""
        self.interest = interest
        return await self._live().want(self, interest)

    async def set_log_level(self, level: LogLevel) -> None:
        self._level = level
        await self._live().set_log_level(self, level)

    def told(self, notice: Notice) -> None:
        if self.on_notice is not None:
            self.on_notice(notice)

    async def roots_changed(self) -> None:
        link = self.link
        if link is not None:
            await link.roots_changed()

    async def attach(self, link: Link) -> None:
        """Say again what was wished, if the link is a new one. After a gap nobody knows what changed, so each resource
        that was wished is told as changed (era-bridging 2.9); lists are compared by whoever has seen them. A wish that
        cannot be said is no reason to have no connection."""
        first, same = self._link is None, self._link is link
        self._link = link
        if not same:
            try:
                await self._say_again(link)
            except BackendFault as fault:
                _log.warning("wish_not_delivered", extra={"data": {"server": self.server, "error": str(fault)}})
        if not first:
            tell_all(self, Interest(uris=self.interest.uris))

    async def _say_again(self, link: Link) -> None:
        if self._level is not None:
            await link.set_log_level(self, self._level)
        if self.interest != NOTHING:
            await link.want(self, self.interest)

    async def detach(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.leave(self)


def tell_all(who: Connection, interest: Interest) -> None:
    for kind in sorted(interest.lists):
        who.told(ListChanged(kind))
    for uri in sorted(interest.uris):
        who.told(ResourceUpdated(uri, {}))


def identity_of(about: About, session: str | None) -> Identity:
    try:
        info = read_fields(about.server_info) if about.server_info is not None else {}
    except NotThatShape:
        info = {}
    return Identity(session, read_text(info.get("name")), read_text(info.get("version")), about.revision or None)
