"""What a lost connection took with it, added up and shown."""

from __future__ import annotations

from emceepee.state.invalidated import Invalidated


def test_losses_add_up_and_are_shown_by_id_and_by_number() -> None:
    lost = Invalidated(("T1",), ("E1",)) + Invalidated(("T2",), sampling_requests=("S1",))
    assert lost
    assert not Invalidated()
    assert lost.ids() == {
        "invalidatedTasks": ["T1", "T2"],
        "invalidatedElicitations": ["E1"],
        "invalidatedSamplingRequests": ["S1"],
    }
    assert lost.counts() == {"invalidatedTasks": 2, "invalidatedElicitations": 1, "invalidatedSampling": 1}
