"""What a request needs of its model."""

from __future__ import annotations

from typing import Any

import pytest

from emceepee.sampling.model import needs_of
from tests.sampling.samples import PNG, WAV, assistant, request, text, user

IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


@pytest.mark.parametrize(
    ("params", "needs"),
    [
        (request(), set()),
        (request(tools=[]), set()),
        (request(messages=[user(IMAGE)]), {"image"}),
        (request(messages=[user([text("listen"), AUDIO]), assistant("yes")]), {"audio"}),
        (request(tools=[{"name": "a", "inputSchema": {}}]), {"tools"}),
        (request(messages=[assistant([{"type": "tool_use", "id": "1", "name": "a", "input": {}}])]), {"tools"}),
    ],
)
def test_a_request_needs_what_it_holds(params: dict[str, Any], needs: set[str]) -> None:
    assert needs_of(params) == needs
