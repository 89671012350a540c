"""Whether a URL leads back to the gateway."""

from __future__ import annotations

import pytest

from emceepee.backends.own_address import OwnAddresses

pytestmark = pytest.mark.shows("X-GAP-10")


def own(*addresses: str) -> OwnAddresses:
    found = OwnAddresses("box.example.test")
    for address in addresses:
        found.add(address)
    return found


@pytest.mark.parametrize("listener", ["127.0.0.1:80", "localhost:80", "[::1]:80", "0.0.0.0:80", "[::]:80"])
@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "http://127.0.0.1:80/x",
        "http://[::1]/",
        "http://0.0.0.0/",
        "http://0x7f.1/",
        "http://127.9.9.9/",
    ],
)
def test_a_listener_of_this_machine_is_known_by_all_its_local_names(listener, url) -> None:
    assert own(listener).includes(url)


@pytest.mark.parametrize("url", ["http://box:80/", "http://BOX.example.test/", "http://box.local/"])
def test_the_name_of_the_machine_is_ours(url) -> None:
    assert own("0.0.0.0:80").includes(url)


def test_https_has_its_own_default_port() -> None:
    assert own("localhost:443").includes("https://localhost/")
    assert not own("localhost:80").includes("https://localhost/")


def test_a_listener_on_one_address_is_that_address() -> None:
    assert own("10.0.0.1:80").includes("http://10.0.0.1/")
    assert not own("10.0.0.1:80").includes("http://10.0.0.2/")
    assert not own("10.0.0.1:80").includes("http://localhost/")


@pytest.mark.parametrize("url", ["", "x", "http://", "http://localhost:x/", "http://localhost:81/", "http://[/"])
def test_what_is_elsewhere_or_no_url_is_not_ours(url) -> None:
    assert not own("127.0.0.1:80").includes(url)


def test_without_a_listener_nothing_is_ours() -> None:
    assert not own().includes("http://localhost/")
    assert not own("localhost").includes("http://localhost/")
