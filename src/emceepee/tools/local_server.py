"""Python functions as an MCP server in this process: what an author registers, and one connection for each client.

    studio = LocalServer("studio", "1.0")

    @studio.tool
    async def describe(clip: str, ctx: ToolContext) -> str: ...

The one rule: it is a server like any other; the gateway reaches it over the same messages, and gives it nothing more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, overload

from emceepee.runtime.clock import Clock, SystemClock
from emceepee.runtime.ids import Ids, SystemIds
from emceepee.sampling.content import Json
from emceepee.tools.clients import SAMPLING_SECONDS, RootsClient
from emceepee.tools.resource import LocalResource, Read
from emceepee.tools.tool import Function, LocalTool, make_tool
from emceepee.vocabulary.names import server_name_problem

RootsListener: TypeAlias = Callable[[RootsClient], Awaitable[None] | None]


class LocalServer:
    """`name` is the name under which it is reached, too."""

    def __init__(
        self,
        name: str,
        version: str = "0",
        instructions: str | None = None,
        sampling_timeout: float = SAMPLING_SECONDS,
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        if problem := server_name_problem(name):
            raise ValueError(problem)
        self.name = name
        self.version = version
        self.instructions = instructions
        self.sampling_timeout = sampling_timeout
        self.clock = clock or SystemClock()
        self.ids = ids or SystemIds()
        self.tools: dict[str, LocalTool] = {}
        self.resources: list[LocalResource] = []
        self.roots_listeners: list[RootsListener] = []

    @overload
    def tool(self, function: Function) -> Function: ...
    @overload
    def tool(
        self, function: None = None, *, name: str | None = None, description: str | None = None, **hints: bool
    ) -> Callable[[Function], Function]: ...

    def tool(
        self,
        function: Function | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        **hints: bool,
    ) -> Function | Callable[[Function], Function]:
        """Registers a function, coroutine or plain. Its documentation is the description; `hints` are the protocol's
        annotations (`readOnlyHint=True`). Raises `TypeError` where its types cannot come from JSON."""

        def register(function: Function) -> Function:
            tool = make_tool(function, name, description, **hints)
            if tool.name in self.tools:
                raise ValueError(f"'{self.name}' has a tool '{tool.name}' already")
            self.tools[tool.name] = tool
            return function

        return register if function is None else register(function)

    def resource(
        self, uri: str, *, name: str | None = None, mime_type: str = "text/plain", description: str | None = None
    ) -> Callable[[Read], Read]:
        """Registers what reads a resource. Names in braces (`studio://clip/{id}`) are its arguments."""

        def register(read: Read) -> Read:
            named = name or str(getattr(read, "__name__", uri))
            self.resources.append(LocalResource(uri, named, read, mime_type, description))
            return read

        return register

    def on_roots_changed(self, listener: RootsListener) -> RootsListener:
        """Registers what is called when a client says that its roots are others now; it may ask for them."""
        self.roots_listeners.append(listener)
        return listener

    @property
    def capabilities(self) -> Json:
        return {"tools": {}, "logging": {}} | ({"resources": {}} if self.resources else {})
