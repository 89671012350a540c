"""Five kinds of client that are asked in the middle of a call, behind one set of verbs: begin, see the question, answer
it in each way there is, go away, and tell how the call ended.

The one rule: what a kind of client cannot say it does not say; then it is silent.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, Literal, TypeAlias

from tests.conversations.asked import HttpAsked, PipeClient
from tests.conversations.house import CAPABILITIES, MODERN, VERSION, House, Json, let_run, response_of
from tests.conversations.meta_client import MetaClient, read_told
from tests.support.asgi_client import AsgiAnswer

Kind: TypeAlias = Literal["form", "url", "sampling", "roots"]
Act: TypeAlias = Literal["accept", "decline", "cancel", "never", "client gone", "backend gone"]

ABLE: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
CONTENT: Json = {"color": "red"}
WRITTEN: Json = {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m", "stopReason": "endTurn"}
ROOTS: Json = {"roots": [{"uri": "file:///work", "name": "work"}]}
PATH = "/servers/shop/mcp"
PAINT: Json = {"name": "paint", "arguments": {}}


def accepted(kind: Kind) -> Json:
    if kind == "form":
        return {"action": "accept", "content": CONTENT}
    return {"url": {"action": "accept"}, "sampling": WRITTEN, "roots": ROOTS}[kind]


def ended_as(response: Json) -> str:
    """A response in a word."""
    if "error" in response:
        return f"error {response['error']['code']}"
    result = response["result"]
    if result.get("resultType") == "input_required":
        return "asked again"
    return "tool error" if result.get("isError") else "result"


class Person(ABC):
    """One client. `shown` is the question as it saw it, or None if there was none."""

    def __init__(self, house: House, kind: Kind) -> None:
        self.house = house
        self.kind: Kind = kind
        self.shown: Json | None = None

    @abstractmethod
    async def begin(self) -> None: ...

    @abstractmethod
    async def answer(self, act: Act) -> None: ...

    @abstractmethod
    async def leave(self) -> None: ...

    @abstractmethod
    def ended(self) -> str: ...

    async def close(self) -> None:
        """What is left of it goes; a session of HTTP is nothing that has to be closed."""
        return

    async def soon(self) -> None:
        await let_run()
        await self.house.clock.advance(0.03)
        await let_run()


class LegacyHttp(Person):
    async def begin(self) -> None:
        self.asked = HttpAsked(await self.house.legacy_client(PATH, capabilities=ABLE))
        self.call: AsgiAnswer = self.asked.call()
        await self.soon()
        self.shown = next(iter(self.asked.asks(self.call)), None)

    async def answer(self, act: Act) -> None:
        assert self.shown is not None
        if act == "accept":
            await self.asked.reply(self.shown, accepted(self.kind))
        elif self.kind in ("form", "url"):
            await self.asked.reply(self.shown, {"action": act})
        elif act == "decline":
            await self.asked.refuse(self.shown)
        else:
            await self.asked.client.tell("notifications/cancelled", {"requestId": self.shown["id"]})

    async def leave(self) -> None:
        await self.asked.client.delete()

    def ended(self) -> str:
        if not self.call.complete:
            return "waits"
        body = self.call.events[-1] if self.call.events else None
        found = body if body is not None else json.loads(self.call.body or b"null")
        return ended_as(found) if isinstance(found, dict) and ("result" in found or "error" in found) else "gone"


class _Pipe(Person):
    def __init__(self, house: House, kind: Kind) -> None:
        super().__init__(house, kind)
        self.pipe = PipeClient(house, PATH)
        self.gone = False

    def response(self, request_id: Any) -> Json | None:
        return next((one for one in self.pipe.said if one.get("id") == request_id and "method" not in one), None)

    async def leave(self) -> None:
        self.gone = True
        await self.pipe.close()

    async def close(self) -> None:
        if not self.gone:
            await self.pipe.close()


class LegacyPipe(_Pipe):
    async def begin(self) -> None:
        await self.pipe.hello(**ABLE)
        self.id = await self.pipe.start("paint")
        await self.soon()
        self.shown = next(iter(self.pipe.asks), None)

    async def answer(self, act: Act) -> None:
        assert self.shown is not None
        if act == "accept":
            await self.pipe.say(id=self.shown["id"], result=accepted(self.kind))
        elif self.kind in ("form", "url"):
            await self.pipe.say(id=self.shown["id"], result={"action": act})
        elif act == "decline":
            await self.pipe.say(id=self.shown["id"], error={"code": -1, "message": "no"})
        else:
            await self.pipe.say(method="notifications/cancelled", params={"requestId": self.shown["id"]})

    def ended(self) -> str:
        found = self.response(self.id)
        return "gone" if self.gone else "waits" if found is None else ended_as(found)


class _Modern(Person):
    """Asked by a result; who does not want to sample or tell roots has no way to say so, and does not come back."""

    def note(self, response: Json) -> None:
        self.last = response
        if ended_as(response) == "asked again":
            ((self.key, self.shown),) = response["result"]["inputRequests"].items()
            self.state = response["result"].get("requestState")

    def again(self, act: Act) -> Json | None:
        if act != "accept" and self.kind not in ("form", "url"):
            return None
        answers = {self.key: accepted(self.kind) if act == "accept" else {"action": act}}
        return PAINT | {"inputResponses": answers} | ({} if self.state is None else {"requestState": self.state})

    def ended(self) -> str:
        return ended_as(self.last)


class ModernHttp(_Modern):
    async def begin(self) -> None:
        self.client = self.house.modern_client(PATH, ABLE)
        started = self.client.start("tools/call", PAINT)
        await self.soon()
        self.note(response_of(await started.done()))

    async def answer(self, act: Act) -> None:
        again = self.again(act)
        if again is not None:
            started = self.client.start("tools/call", again)
            await self.soon()
            self.note(response_of(await started.done()))

    async def leave(self) -> None:
        """It never comes back; nothing of it is left that could be closed."""


class ModernPipe(_Modern, _Pipe):
    async def begin(self) -> None:
        await self._call(1, PAINT)

    async def _call(self, request_id: int, params: Json) -> None:
        meta = {VERSION: MODERN, CAPABILITIES: ABLE}
        await self.pipe.say(id=request_id, method="tools/call", params=params | {"_meta": meta})
        await self.soon()
        self.note(await self.pipe.response(request_id))

    async def answer(self, act: Act) -> None:
        again = self.again(act)
        if again is not None:
            await self._call(2, again)

    async def close(self) -> None:
        await _Pipe.close(self)

    async def leave(self) -> None:
        await _Pipe.leave(self)


class ToolsOnly(Person):
    """Has told its roots before, if they are asked for; it can leave a sampling request only unanswered."""

    async def begin(self) -> None:
        self.meta = MetaClient(await self.house.legacy_client("/mcp"))
        if self.kind == "roots":
            await self.meta.use("set_roots", roots=["/work"])
        call = self.meta.start("execute_tool", server="shop", tool="paint")
        await self.soon()
        self.first = response_of(await call.done())
        told = read_told(self.first)
        asks = told.pending or {"elicitations": [], "sampling_requests": []}
        self.shown = next(iter(asks["elicitations"] + asks["sampling_requests"]), None)
        self.task = told.own[0]["task"]["taskId"] if self.shown is not None else None
        self.gone = False

    async def answer(self, act: Act) -> None:
        if self.shown is None:
            return
        request_id = self.shown["requestId"]
        if self.kind == "sampling":
            if act == "accept":
                await self.meta.use("respond_to_sampling", request_id=request_id, content="hi", model="m")
            elif act == "cancel":
                await self.meta.use("cancel_task", task_id=self.task)
            return
        content = {"content": CONTENT} if act == "accept" and self.kind == "form" else {}
        await self.meta.use("respond_to_elicitation", request_id=request_id, action=act, **content)

    async def leave(self) -> None:
        self.gone = True
        await self.meta.client.delete()  # type: ignore[union-attr]

    async def finish(self) -> str:
        if self.gone or self.task is None:
            return "gone" if self.gone else ended_as(self.first)
        got = self.meta.start("get_task_result", task_id=self.task, timeout_ms=0)
        response = response_of(await got.done())
        text = response["result"]["content"][0]["text"] if response["result"].get("content") else ""
        return "waits" if '"status":"working"' in text else ended_as(response)

    def ended(self) -> str:
        return self.word

    word = "waits"

    async def close(self) -> None:
        self.word = await self.finish()


PEOPLE: dict[str, type[Person]] = {
    "legacy stdio": LegacyPipe,
    "legacy HTTP": LegacyHttp,
    "modern HTTP": ModernHttp,
    "modern stdio": ModernPipe,
    "tools only": ToolsOnly,
}
