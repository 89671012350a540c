"""A surface under a path that ends in a workspace: `/mcp/w/NAME`, and so the others.

The one rule: only whose scope it is changes, and it is looked up for each request, because a workspace may end between
two of them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw
from msgspec.structs import replace

from emceepee.relay.surface import Description, Listener, OnEnd, OnNotice, Surface, Unknown
from emceepee.relay.task_room import TaskRoom
from emceepee.vocabulary.calls import Call, Caller
from emceepee.vocabulary.names import LogLevel, Scope
from emceepee.vocabulary.notices import Interest
from emceepee.vocabulary.outcomes import Answered, Begun
from emceepee.vocabulary.tasks import GoesOn


class InWorkspace:
    """`scope_of` takes the name and a principal, and raises `ClientFault` where that names nothing of his."""

    def __init__(self, surface: Surface, workspace: str, scope_of: Callable[[str, str], Scope]) -> None:
        self._surface = surface
        self._workspace = workspace
        self._scope_of = scope_of

    @property
    def name(self) -> str:
        return self._surface.name

    def _there(self, caller: Caller) -> Caller:
        return replace(caller, scope=self._scope_of(self._workspace, caller.principal))

    async def describe(self, caller: Caller) -> Description:
        return await self._surface.describe(self._there(caller))

    @property
    def tasks(self) -> TaskRoom:
        return self._surface.tasks.placed(self._there)

    async def carry(self, call: Call, on_notice: OnNotice | None) -> Answered | GoesOn:
        call.caller = self._there(call.caller)
        return await self._surface.carry(call, on_notice)

    def repeatable(self, call: Call) -> bool:
        call.caller = self._there(call.caller)
        return self._surface.repeatable(call)

    def begin(self, call: Call, on_notice: OnNotice | None, ended: OnEnd) -> Begun | None:
        call.caller = self._there(call.caller)
        return self._surface.begin(call, on_notice, ended)

    async def listen(self, caller: Caller, interest: Interest, on_notice: OnNotice) -> Listener:
        return await self._surface.listen(self._there(caller), interest, on_notice)

    async def set_log_level(self, caller: Caller, level: LogLevel) -> None:
        await self._surface.set_log_level(self._there(caller), level)

    def schema_at_hand(self, caller: Caller, tool: str) -> Raw | Unknown | None:
        return self._surface.schema_at_hand(self._there(caller), tool)

    async def input_schema(self, caller: Caller, tool: str) -> Raw | None:
        return await self._surface.input_schema(self._there(caller), tool)

    async def roots_changed(self, caller: Caller) -> None:
        await self._surface.roots_changed(self._there(caller))

    async def forget(self, scope: Scope) -> None:
        """The session is over; the workspace outlives it."""
        await self._surface.forget(scope)
