"""One scope's connection to one server, as the relay sees it: request, want, set the log level.

It outlives the link behind it: when a link is lost and made anew, the handle, its wishes and its listener stay. It
knows no era; a `Link` does.

The one rule: what a scope wished is kept here and said again on every new link, because a server forgets its sessions
and we do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from emceepee.errors import BackendUnavailable
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.names import LogLevel, Scope, ServerName
from emceepee.vocabulary.notices import NOTHING, Interest, ListChanged, Notice, ResourceUpdated
from emceepee.vocabulary.outcomes import Outcome

OnNotice: TypeAlias = Callable[[Notice], None]


class Link(Protocol):
    """One live conversation with a server, in its era; shared by several handles where the server keeps no sessions."""

    @property
    def about(self) -> About: ...

    @property
    def alive(self) -> bool: ...

    @property
    def pending(self) -> int:
        """Questions that the server has not answered yet."""
        ...

    async def request(
        self, call: Call, on_notice: OnNotice | None, timeout: float, level: LogLevel | None
    ) -> Outcome: ...

    async def want(self, who: Connection, interest: Interest) -> Interest: ...

    async def set_log_level(self, who: Connection, level: LogLevel) -> None: ...

    async def leave(self, who: Connection) -> None:
        """This handle needs it no more: what only it wished is withdrawn. Whether the link goes on is the pool's."""
        ...

    async def close(self) -> None: ...


class Connection:
    """The handle. `on_notice` receives what comes unasked; set by whoever listens for this scope."""

    __slots__ = ("_level", "_link", "interest", "on_notice", "scope", "server")

    def __init__(self, server: ServerName, scope: Scope) -> None:
        self.server = server
        self.scope = scope
        self.on_notice: OnNotice | None = None
        self.interest: Interest = NOTHING
        self._level: LogLevel | None = None
        self._link: Link | None = None

    @property
    def link(self) -> Link | None:
        link = self._link
        return link if link is not None and link.alive else None

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

    async def request(self, call: Call, on_notice: OnNotice | None, timeout: float) -> Outcome:
        """Raises `errors.BackendFault` where the server did not answer."""
        return await self._live().request(call, on_notice, timeout, self._level)

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

    async def attach(self, link: Link) -> None:
        """A new link: say again what was wished. After a gap nobody knows what changed, so everything wished is told as
        changed (era-bridging 2.9, synthetic notices)."""
        first = self._link is None
        self._link = link
        if self._level is not None:
            await link.set_log_level(self, self._level)
        if self.interest == NOTHING:
            return
        await link.want(self, self.interest)
        if not first:
            tell_all(self, self.interest)

    async def detach(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.leave(self)


def tell_all(who: Connection, interest: Interest) -> None:
    for kind in sorted(interest.lists):
        who.told(ListChanged(kind))
    for uri in sorted(interest.uris):
        who.told(ResourceUpdated(uri, {}))
