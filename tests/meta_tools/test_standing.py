"""What is said of how a server stands: nothing of what is well, and of the rest what helps."""

from __future__ import annotations

import pytest

from emceepee.backends.catalogue import make_listed
from emceepee.backends.lifecycle import Life, State, Status
from emceepee.errors import BackendUnavailable
from emceepee.meta_tools.standing import in_brief, in_full, what_next
from emceepee.relay.listing import Shown

SINCE = "2026-11-01T00:00:00.000Z"
WELL = Status("connected", SINCE, None, "2025-11-25", 1, "ready", SINCE)
LOST = Status("disconnected", SINCE, "it exited with code 1", None, 3, "waiting", SINCE, 3.96, 2)


def test_of_a_server_that_is_well_nothing_is_said_in_brief() -> None:
    assert in_brief(WELL, 0) == {}


def test_of_one_that_is_lost_since_when_and_when_it_is_tried_again() -> None:
    assert in_brief(LOST, 2) == {"since": SINCE, "nextTryMs": 3960, "restarts": 2, "workingTasks": 2}


def test_one_that_is_silent_is_connected_and_unwell() -> None:
    unwell = Status("connected", SINCE, "no answer to ping within 10 s", life="unwell", since=SINCE, waiters=1)
    assert in_brief(unwell, 0) == {"unwell": True, "waitingCalls": 1}


def test_in_full_it_has_what_a_person_looks_for() -> None:
    lists = {
        "tools": Shown("stale", make_listed("tools", (), {}, None), 2.5, BackendUnavailable("a", "refused")),
        "prompts": Shown("down", fault=BackendUnavailable("a", "refused")),
    }
    status = Status("connected", SINCE, None, None, 2, "ready", SINCE, round_trip=0.00123, pending=4, children=(7,))
    assert in_full(status, lists) == {
        "since": SINCE,
        "restarts": 1,
        "roundTripMs": 1.2,
        "children": [7],
        "pendingRequests": 4,
        "lists": {
            "tools": {"status": "stale", "count": 0, "ageMs": 2500, "why": "Server 'a': refused"},
            "prompts": {"status": "down", "why": "Server 'a': refused"},
        },
        "next": "Call list_tools, then execute_tool.",
    }
    assert in_full(LOST, {})["attempts"] == 2


@pytest.mark.parametrize(
    ("state", "life", "error", "loop", "next_try", "said"),
    [
        ("not_connected", "stopped", None, False, None, "The next call connects it."),
        ("connecting", "starting", None, False, None, "It is being connected; a call waits for that."),
        ("error", "stopped", "x", False, None, "It is not tried by itself any more; a call, or reconnect_server"),
        (
            "error",
            "waiting",
            "x",
            False,
            4.0,
            "A call, or reconnect_server, tries at once. By itself it is tried again",
        ),
        ("error", "waiting", "x", True, 60.0, "It ends soon after each start: correct what it needs"),
        ("connected", "unwell", "x", False, None, "It does not answer our probes"),
    ],
)
def test_each_state_has_a_next_step(
    state: State, life: Life, error: str | None, loop: bool, next_try: float | None, said: str
) -> None:
    status = Status(state, None, error, life=life, next_try=next_try, crash_loop=loop)
    assert what_next(status).startswith(said)
