"""What a server offers beside tools, as a client on pipes sees it through us: templates, updates, log levels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conversations.asked import PipeClient
from tests.conversations.house import House, let_run
from tests.support.scripted_backend import ScriptedBackend, Turn

URI = "note://1"
RESOURCES = {"resources": {"subscribe": True, "listChanged": True}, "logging": {}}
UPDATED, CHANGED = "notifications/resources/updated", "notifications/resources/list_changed"


async def pipe(backend: ScriptedBackend, path: str = "/servers/notes/mcp") -> tuple[House, PipeClient]:
    house = House({"notes": backend})
    client = PipeClient(house, path)
    await client.hello()
    return house, client


async def asked(client: PipeClient, method: str, **params: Any) -> Any:
    used = next(client.ids)
    await client.say(id=used, method=method, params=params)
    return await client.response(used)


def told(client: PipeClient, *methods: str) -> list[Any]:
    return [(one["method"], one.get("params")) for one in client.said if one.get("method") in methods]


@pytest.mark.shows("C-SRV-01")
async def test_templates_come_from_the_server_page_by_page() -> None:
    every = [{"uriTemplate": f"note://{number}/{{x}}", "name": str(number)} for number in range(1500)]

    def list_templates(turn: Turn) -> Any:
        start = int(turn.params.get("cursor", "0"))
        page: dict[str, Any] = {"resourceTemplates": every[start : start + 700]}
        return page | ({"nextCursor": str(start + 700)} if start + 700 < len(every) else {})

    house, client = await pipe(
        ScriptedBackend(answers={"resources/templates/list": list_templates}, capabilities=RESOURCES)
    )
    first = (await asked(client, "resources/templates/list"))["result"]
    assert set(first) == {"resourceTemplates", "nextCursor"}
    rest = (await asked(client, "resources/templates/list", cursor=first["nextCursor"]))["result"]
    assert first["resourceTemplates"] + rest["resourceTemplates"] == every
    assert "nextCursor" not in rest
    await client.close()
    await house.close()


async def test_where_there_are_no_prompts_their_list_is_no_method() -> None:
    house, client = await pipe(ScriptedBackend(), "/mcp")
    assert (await asked(client, "prompts/list"))["error"]["code"] == -32601
    assert (await asked(client, "tools/list"))["result"]["tools"]
    await client.close()
    await house.close()


@pytest.mark.shows("C-SRV-03", "C-SRV-04")
async def test_an_update_is_told_with_its_uri_beside_changes_of_the_list() -> None:
    backend = ScriptedBackend(
        answers={"resources/list": {"resources": [{"uri": URI, "name": "n"}]}, "resources/subscribe": {}},
        capabilities=RESOURCES,
    )
    house, client = await pipe(backend)
    backend.connections[-1].notify(UPDATED, {"uri": URI})
    await let_run()
    assert told(client, UPDATED) == [], "nobody has subscribed"
    assert (await asked(client, "resources/subscribe", uri=URI))["result"] == {}
    backend.notify(UPDATED, {"uri": URI})
    backend.notify(UPDATED, {"uri": "note://2"})
    backend.notify(CHANGED)
    await let_run()
    assert told(client, UPDATED, CHANGED) == [(UPDATED, {"uri": URI}), (CHANGED, None)]
    await client.close()
    await house.close()


@pytest.mark.shows("C-SRV-04")
async def test_a_server_that_tells_of_nothing_is_served_all_the_same() -> None:
    answers: Any = {"resources/list": {"resources": [{"uri": URI, "name": "n"}]}, "resources/read": {"contents": []}}
    house, client = await pipe(ScriptedBackend(answers=answers, capabilities={"resources": {}}))
    assert (await asked(client, "resources/list"))["result"]["resources"]
    assert (await asked(client, "resources/read", uri=URI))["result"] == {"contents": []}
    assert [one for one in client.said if "error" in one] == []
    await client.close()
    await house.close()


@pytest.mark.shows("C-SRV-05")
async def test_a_level_changes_what_is_sent_and_is_taken_where_there_are_no_logs() -> None:
    backend = ScriptedBackend(capabilities={"tools": {}, "logging": {}})
    house, client = await pipe(backend)
    assert (await asked(client, "logging/setLevel", level="error"))["result"] == {}
    await asked(client, "tools/list")
    assert backend.params("logging/setLevel") == [{"level": "error"}]
    for level in ("info", "critical"):
        backend.notify("notifications/message", {"level": level, "data": level})
    await let_run()
    assert [one["data"] for _, one in told(client, "notifications/message")] == ["critical"]
    await client.close()
    await house.close()
    plain = ScriptedBackend(capabilities={"tools": {}})
    house, client = await pipe(plain)
    assert (await asked(client, "logging/setLevel", level="error"))["result"] == {}
    assert plain.params("logging/setLevel") == []
    await client.close()
    await house.close()
