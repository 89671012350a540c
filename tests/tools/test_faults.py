"""One class catches whatever can become of a question."""

from __future__ import annotations

import pytest

from emceepee.tools import faults


@pytest.mark.parametrize("kind", [faults.NotSupported, faults.AskTimeout, faults.ChannelClosed, faults.RemoteCancelled])
def test_each_is_a_failed_ask(kind: type[faults.AskFailed]) -> None:
    with pytest.raises(faults.AskFailed, match="why"):
        raise kind("why")


def test_a_refusal_has_the_clients_words() -> None:
    refused = faults.Refused(-1, "User rejected sampling request", {"a": 1})
    assert isinstance(refused, faults.AskFailed)
    assert str(refused) == "User rejected sampling request (-1)"
    assert not issubclass(faults.ToolError, faults.AskFailed)
