"""What an exchange makes of a request target. Its bodies and answers are shown byte by byte in `test_http_wire.py`."""

import pytest

from emceepee.front.wire_exchange import path_of


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/mcp", "/mcp"),
        (b"/mcp?x=1#y", "/mcp"),
        (b"/servers/%C3%A9/mcp", "/servers/é/mcp"),
        (b"http://127.0.0.1:8080/mcp", "/mcp"),
        (b"*", "*"),
        (b"", "/"),
    ],
)
def test_the_path_of_a_target(target: bytes, path: str) -> None:
    assert path_of(target) == path
