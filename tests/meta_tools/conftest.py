"""How a test calls one of our tools and reads what it says.

The one rule: what a test sees is what a client would: the text of the result's first block, decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from emceepee.meta_tools.surface import MetaSurface
from emceepee.vocabulary.raw_json import read_value
from tests.support.fake_backends import House, call, plain

Use = Callable[..., Coroutine[Any, Any, Any]]


@pytest.fixture
def use() -> Use:
    """`await use(house, "tool", **arguments)`: the decoded answer; a refusal is under `error`."""

    async def used(house: House, tool: str, /, scope: str = "s", **arguments: Any) -> Any:
        asked = call("tools/call", scope, name=tool, arguments=arguments)
        result = plain(await MetaSurface(house.middle).carry(asked, None))
        said = read_value(result["content"][0]["text"].encode())
        assert ("error" in said) == result.get("isError", False)
        return said

    return used
