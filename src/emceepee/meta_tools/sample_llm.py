"""A question to a model by our own tool: `sample_llm` asks the client's model, or a configured one.

The one rule: it never becomes a question to the tools that it was itself called with; who has nothing but those, and no
model, is told so at once.
"""

from __future__ import annotations

import asyncio
from typing import Any

from emceepee.meta_tools.answers import EXECUTION_FAILED, TIMED_OUT, ToolExecutionError, text_block
from emceepee.meta_tools.arguments import INVALID_ARGUMENTS
from emceepee.meta_tools.desk import Desk
from emceepee.meta_tools.tool import Arguments, Asked, Param, make_tool
from emceepee.runtime.deadline import Deadline
from emceepee.state.answer_checks import sampling_problem
from emceepee.vocabulary.asks import Belonging, RaisedAsk
from emceepee.vocabulary.calls import Call
from emceepee.vocabulary.outcomes import Done, Failed, Outcome
from emceepee.vocabulary.raw_json import NotThatShape, Payload, read_value, to_raw, write

OURSELVES = "emceepee"
"""Who asks, where a server's name is shown."""

_NOBODY = -32601
_MAX_TOKENS = 500

_NO_MODEL = (
    "There is no model to ask: the client did not declare the capability 'sampling', and the gateway has none "
    "configured"
)


async def _sample(desk: Desk, asked: Asked) -> Done:
    outcome = await _asked(desk, asked.call, _params(asked.arguments))
    if isinstance(outcome, Failed):
        raise _refused(outcome)
    said = _read(outcome)
    return Done(Payload.of({"content": [text_block(write(said))], "structuredContent": said}))


def _params(arguments: Arguments) -> dict[str, Any]:
    messages, prompt = arguments.get("messages"), arguments.get("prompt")
    if (messages is None) == (prompt is None):
        problem = "sample_llm takes one of 'prompt' and 'messages'"
        raise ToolExecutionError(INVALID_ARGUMENTS, problem, {"field": "prompt"}, "Send 'prompt', a text")
    if messages is None:
        messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    params: dict[str, Any] = {"messages": messages, "maxTokens": arguments.get("max_tokens", _MAX_TOKENS)}
    if "system_prompt" in arguments:
        params["systemPrompt"] = arguments["system_prompt"]
    if "temperature" in arguments:
        params["temperature"] = arguments["temperature"]
    if hints := arguments.get("model_hints"):
        params["modelPreferences"] = {"hints": [{"name": name} for name in hints]}
    return params


async def _asked(desk: Desk, call: Call, params: dict[str, Any]) -> Outcome:
    answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def settle(outcome: Outcome) -> None:
        if not answered.done():
            answered.set_result(outcome)

    raised = RaisedAsk("sampling", "sampling", to_raw(params), Belonging("exact", (call,)), settle)
    middle = desk.middle
    taken = middle.asks.take(OURSELVES, (call.caller.scope,), raised, by_us=True)
    if isinstance(taken, Failed):
        return taken
    seconds = middle.settings.sample_timeout
    try:
        async with Deadline(middle.clock, seconds):
            return await answered
    except TimeoutError:
        message = f"The model did not answer within {seconds:g} s"
        raise ToolExecutionError(TIMED_OUT, message, None, "Ask for fewer max_tokens, or later.") from None
    finally:
        if not answered.done() or answered.cancelled():
            taken("sample_llm waits for no answer any more")


def _refused(failed: Failed) -> ToolExecutionError:
    if failed.code == _NOBODY:
        return ToolExecutionError(EXECUTION_FAILED, _NO_MODEL, None, "Write the text yourself.")
    details: dict[str, Any] = {"code": failed.code}
    if failed.data is not None:
        details["data"] = failed.data
    return ToolExecutionError(EXECUTION_FAILED, f"The model did not answer: {failed.message}", details)


def _read(done: Done) -> dict[str, Any]:
    try:
        answer = read_value(done.payload.raw())
    except NotThatShape:
        answer = None
    problem = sampling_problem(None, answer) if isinstance(answer, dict) else "it is no object"
    if problem:
        raise ToolExecutionError(EXECUTION_FAILED, f"The answer to sample_llm cannot be used: {problem}")
    content = answer["content"]
    blocks = content if isinstance(content, list) else [content]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if not texts:
        kinds = ", ".join(block["type"] for block in blocks)
        raise ToolExecutionError(EXECUTION_FAILED, f"The model answered with {kinds}, where text was asked for")
    said: dict[str, Any] = {"text": "".join(texts), "model": answer["model"]}
    return said | ({"stop_reason": answer["stopReason"]} if answer.get("stopReason") else {})


_TEXT = {"type": "string"}

TOOLS = (
    make_tool(
        "sample_llm",
        "Request LLM inference from the connected client, or a configured model. What servers ask: "
        "get_sampling_requests.",
        _sample,
        {
            "prompt": Param("string", "this, or messages"),
            "messages": Param("objects", "role and content of each"),
            "system_prompt": Param("string"),
            "max_tokens": Param("integer", "default 500", least=1),
            "temperature": Param("number"),
            "model_hints": Param("strings"),
        },
        output={
            "type": "object",
            "properties": {"text": _TEXT, "model": _TEXT, "stop_reason": _TEXT},
            "required": ["text", "model"],
        },
    ),
)
