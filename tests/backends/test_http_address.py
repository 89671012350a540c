"""URLs, header lines, and what must not get into a head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emceepee.backends.http_address import BadAddress, follow, overlaid, read_address, write_lines


@pytest.mark.parametrize(
    ("url", "host_header", "target", "port"),
    [
        ("http://example.com", "example.com", "/", 80),
        ("https://Example.COM:443/mcp", "example.com", "/mcp", 443),
        ("http://example.com:8080/a/b?x=1&y=%20z", "example.com:8080", "/a/b?x=1&y=%20z", 8080),
        ("http://[::1]:3000/mcp", "[::1]:3000", "/mcp", 3000),
        ("http://[fe80::1%25eth0]/mcp", "[fe80::1]", "/mcp", 80),
        ("https://bücher.example/straße", "xn--bcher-kva.example", "/stra%C3%9Fe", 443),
        ("http://127.0.0.1:9/#fragment", "127.0.0.1:9", "/", 9),
        ("http://example.com./mcp", "example.com", "/mcp", 80),
    ],
)
def test_a_url_becomes_host_port_and_target(url: str, host_header: str, target: str, port: int) -> None:
    address = read_address(url)
    assert (address.host_header, address.target, address.port) == (host_header, target, port)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "mcp",
        "http://a:99999/",
        "http://a:0/",
        "http://[::1/",
    ],
)
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        read_address(url)


@pytest.mark.parametrize(
    "url", ["http://a/x\r\nhost: b", "http://a/ b", "http://a\x00/", "http://a/\tb", "http://a/\x7f"]
)
def test_a_url_cannot_carry_a_line_break_or_a_blank_into_the_head(url: str) -> None:
    with pytest.raises(BadAddress):
        read_address(url)


def test_user_info_becomes_a_basic_credential_and_is_nowhere_else() -> None:
    address = read_address("https://us%40er:pa%3Ass@example.com/mcp")
    assert address.credentials == "Basic dXNAZXI6cGE6c3M="
    assert "pa" not in repr(address)
    assert "@" not in address.absolute


def test_a_refusal_never_repeats_the_url() -> None:
    with pytest.raises(BadAddress) as caught:
        read_address("gopher://user:secret@example.com/?token=hush")
    assert "secret" not in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/mcp/", "/mcp/"),
        ("messages?session=1", "/v1/messages?session=1"),
        ("?again", "/v1/mcp?again"),
        ("http://example.com/other", "/other"),
        ("http://example.com:80/other", "/other"),
        (" /blank ", "/blank"),
    ],
)
def test_a_reference_within_the_origin_is_followed(location: str, target: str) -> None:
    there = follow(read_address("http://example.com/v1/mcp"), location)
    assert there is not None
    assert there.target == target


@pytest.mark.parametrize(
    "location",
    [
        "https://example.com/v1/mcp",
        "http://example.com:81/",
        "//evil.test/x",
        "http://evil.test/",
        "file:///etc/passwd",
        "http://[",
        "javascript:alert(1)",
        "/x\r\ny: z",
    ],
)
def test_a_reference_that_leaves_the_origin_is_not_followed(location: str) -> None:
    assert follow(read_address("http://example.com/v1/mcp"), location) is None


def test_header_lines_are_written_as_given() -> None:
    assert write_lines([("X-One", " a b "), ("x-two", "ü")]) == b"X-One: a b\r\nx-two: \xfc\r\n"


@pytest.mark.parametrize(
    "header",
    [
        ("x", "a\r\nb: c"),
        ("x", "a\nb"),
        ("x", "a\0"),
        ("x", "€"),
        ("x y", "a"),
        ("x:", "a"),
        ("", "a"),
        ("x\r\n", "a"),
        ("Content-Length", "5"),
        ("transfer-encoding", "chunked"),
        ("Connection", "close"),
    ],
)
def test_a_header_that_breaks_out_of_its_line_or_of_the_framing_is_refused(header: tuple[str, str]) -> None:
    with pytest.raises(BadAddress):
        write_lines([header])


@given(st.text(), st.text())
def test_whatever_a_header_holds_it_stays_one_line(name: str, value: str) -> None:
    try:
        written = write_lines([(name, value)])
    except BadAddress:
        return
    assert written.count(b"\r") == written.count(b"\n") == 1
    assert written.endswith(b"\r\n")


@given(st.text(max_size=80))
def test_whatever_a_url_holds_its_target_is_one_word_of_ascii(text: str) -> None:
    try:
        address = read_address("http://example.com/" + text)
    except BadAddress:
        return
    assert address.target.isascii()
    assert not any(char.isspace() or ord(char) < 0x21 for char in address.target)


def test_a_configured_header_takes_the_place_of_ours() -> None:
    assert overlaid([("accept", "x"), ("b", "1")], [("Accept", "y")]) == [("b", "1"), ("Accept", "y")]
