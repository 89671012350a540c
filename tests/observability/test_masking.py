"""What may be written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.observability.masking import is_secret, masked, masked_text
from emceepee.vocabulary.names import scope_label

pytestmark = pytest.mark.shows("X-GAP-18")


@pytest.mark.parametrize(
    "key",
    ["authorization", "Proxy-Authorization", "token", "access_token", "apiKey", "x-api-key", "password", "DB_PASSWORD",
     "client_secret", "Set-Cookie", "credentials",],
)  # fmt: skip
def test_a_key_that_names_a_secret_is_known(key) -> None:
    assert is_secret(key)


@pytest.mark.parametrize("key", ["progressToken", "maxTokens", "server", "url", "secretary", 5, None])
def test_other_keys_are_not(key) -> None:
    assert not is_secret(key)


def test_a_session_id_becomes_its_label_and_a_label_stays() -> None:
    shown = masked({"sessionId": "01J9ZQ4M7N8P9RSTVWXYZ01234", "mcp-session-id": "ab12cd34"})
    assert shown == {"sessionId": scope_label("01J9ZQ4M7N8P9RSTVWXYZ01234"), "mcp-session-id": "ab12cd34"}
    assert len(shown["sessionId"]) == 8


def test_an_absent_secret_is_shown_as_absent() -> None:
    assert masked({"token": None}) == {"token": None}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://u:p@x/y?z=1#2, please", "see https://x/y please"),
        ("http://x?k=v", "http://x"),
        ("Bearer abcdefgh.ijk", "Bearer ***"),
        ("no url here", "no url here"),
    ],
)
def test_urls_and_credentials_inside_a_text_are_bared(text, shown) -> None:
    assert masked_text(text) == shown


@given(
    st.recursive(
        st.none() | st.text() | st.binary() | st.floats() | st.integers(), lambda x: st.lists(x) | st.sets(st.text())
    )
)
def test_anything_becomes_plain(value) -> None:
    assert isinstance(masked(value), None.__class__ | str | float | int | list)
