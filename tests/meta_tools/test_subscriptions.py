"""Subscriptions by tools: who asks is told, and nobody else."""

from __future__ import annotations

import pytest

from tests.conversations.house import House, let_run
from tests.conversations.meta_client import meta
from tests.conversations.test_notices import URI, with_resources

UPDATED = "notifications/resources/updated"


@pytest.mark.shows("X-GAP-15")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_who_subscribed_is_told_of_a_change_and_who_did_not_is_not(era: str) -> None:
    backend = with_resources(era)
    house = House({"files": backend}, affinity="shared")
    subscriber, other = await meta(house), await meta(house)
    for client in (subscriber, other):
        await client.use("list_resources")
    said = (await subscriber.use("subscribe_resource", server="files", uri=URI)).said
    assert said["success"] is True
    await let_run()
    backend.notify(UPDATED, {"uri": URI})
    await let_run()

    async def heard(client: object) -> list[str]:
        told = await client.use("list_servers")  # type: ignore[attr-defined]
        return [event["data"]["method"] for event in told.events if event["type"] == "notification"]

    assert await heard(subscriber) == [UPDATED]
    assert await heard(other) == []
    assert (await subscriber.use("unsubscribe_resource", server="files", uri=URI)).said["success"] is True
    assert (await subscriber.use("unsubscribe_resource", server="files", uri=URI)).said["success"] is False
    await let_run()
    backend.notify(UPDATED, {"uri": URI})
    await let_run()
    assert await heard(subscriber) == []
    await house.close()
