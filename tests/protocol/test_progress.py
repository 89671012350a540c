"""Which request a progress notification is about."""

from __future__ import annotations

import pytest
from msgspec import Raw

from emceepee.protocol.progress import token_of


@pytest.mark.parametrize("token", [1, "1", "g-17", 0, ""])
def test_a_token_keeps_its_type_and_value(token: int | str) -> None:
    written = f'"{token}"' if isinstance(token, str) else str(token)
    read = token_of(Raw(f'{{"progress":0.5,"progressToken":{written},"message":"x"}}'.encode()))
    assert (read, type(read)) == (token, type(token))


@pytest.mark.parametrize(
    "params", [b"{}", b'{"progressToken":null}', b'{"progressToken":true}', b'{"progressToken":[]}']
)
def test_what_is_no_token_is_none(params: bytes) -> None:
    assert token_of(Raw(params)) is None
    assert token_of(None) is None
