"""Which proxy, by which variable, and for whom none."""

from __future__ import annotations

import pytest

from emceepee.backends.http_address import read_address
from emceepee.backends.http_proxy import Proxies, Proxy, UnusableProxy

PROXY = Proxy("proxy.test", 3128)


def proxy_for(url: str, **environment: str) -> Proxy | None:
    return Proxies(environment).for_address(read_address(url))


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
def test_a_variable_in_either_spelling_names_the_proxy(name: str) -> None:
    assert proxy_for("http://example.com/", **{name: "http://proxy.test:3128"}) == PROXY


def test_small_letters_win_over_capitals() -> None:
    chosen = proxy_for("http://example.com/", http_proxy="proxy.test:3128", HTTP_PROXY="http://other.test:1")
    assert chosen == PROXY


def test_each_scheme_has_its_own_variable() -> None:
    environment = {"https_proxy": "http://proxy.test:3128"}
    assert proxy_for("https://example.com/", **environment) == PROXY
    assert proxy_for("http://example.com/", **environment) is None


def test_capitals_count_for_nothing_where_a_caller_could_have_set_them() -> None:
    environment = {"HTTP_PROXY": "http://evil.test:1", "REQUEST_METHOD": "GET"}
    assert proxy_for("http://example.com/", **environment) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "app.localhost"])
def test_loopback_never_goes_to_a_proxy(host: str) -> None:
    assert proxy_for(f"http://{host}/", http_proxy="http://proxy.test:3128") is None


@pytest.mark.parametrize(
    ("entry", "url", "straight"),
    [
        ("*", "http://example.com/", True),
        ("example.com", "http://example.com/", True),
        ("example.com", "http://api.example.com/", True),
        (".example.com", "http://api.example.com/", True),
        ("*.example.com", "http://api.example.com/", True),
        ("example.com", "http://notexample.com/", False),
        ("example.com:8080", "http://example.com:8080/", True),
        ("example.com:8080", "http://example.com/", False),
        ("a, b ,example.com", "http://example.com/", True),
        ("10.0.0.0/8", "http://10.1.2.3/", True),
        ("10.0.0.0/8", "http://11.1.2.3/", False),
        ("10.1.2.3", "http://10.1.2.3:99/", True),
        ("fd00::/8", "http://[fd00::1]/", True),
        ("[fd00::1]:99", "http://[fd00::1]:99/", True),
        ("EXAMPLE.com", "http://example.com/", True),
        ("", "http://example.com/", False),
        (",,", "http://example.com/", False),
    ],
)
def test_no_proxy_sends_these_straight(entry: str, url: str, straight: bool) -> None:
    chosen = proxy_for(url, all_proxy="http://proxy.test:3128", no_proxy=entry)
    assert (chosen is None) == straight


def test_the_credentials_of_a_proxy_come_from_its_url_and_do_not_show() -> None:
    chosen = proxy_for("http://example.com/", http_proxy="http://me:hush@proxy.test")
    assert chosen is not None
    assert chosen.credentials == "Basic bWU6aHVzaA=="
    assert "bWU" not in repr(chosen)


@pytest.mark.parametrize("url", ["https://proxy.test", "socks5://proxy.test", "http://", "http://a b"])
def test_a_proxy_that_cannot_be_used_is_said_when_it_would_be(url: str) -> None:
    proxies = Proxies({"http_proxy": url})
    with pytest.raises(UnusableProxy):
        proxies.for_address(read_address("http://example.com/"))
    assert proxies.for_address(read_address("http://localhost/")) is None
