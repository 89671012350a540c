"""The headers that matter, and which of them may be there once only."""

from __future__ import annotations

from emceepee.front.heads import Head, mcp_headers


def test_the_first_value_counts_and_every_version_is_kept() -> None:
    head = Head(
        [
            (b"host", b"localhost"),
            (b"accept", b"a"),
            (b"accept", b"b"),
            (b"x-other", b"1"),
            (b"mcp-protocol-version", b"1"),
            (b"mcp-protocol-version", b"2"),
        ]
    )
    assert (head.get(b"host"), head.get(b"accept"), head.get(b"none")) == ("localhost", "a", None)
    assert head.versions == ["1", "2"]
    assert head.refused() is None


def test_a_doubled_host_origin_or_session_is_refused() -> None:
    for name in (b"host", b"origin", b"mcp-session-id"):
        refused = Head([(name, b"a"), (name, b"a")]).refused()
        assert refused is not None
        assert refused.status == 400


def test_headers_of_ours_keep_every_value_in_order_whatever_their_bytes() -> None:
    headers = [(b"mcp-a", b"1"), (b"x", b"2"), (b"mcp-b", b"\xff"), (b"mcp-a", b"2")]
    assert mcp_headers(headers) == {"mcp-a": ["1", "2"], "mcp-b": ["\xff"]}
