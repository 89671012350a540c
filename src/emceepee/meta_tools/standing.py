"""How a server stands, in as few words as help: what is the matter, since when, and what happens next.

The one rule: pure, and silent about what is as it should be: a healthy server costs a model no more than its name and
address.
"""

from __future__ import annotations

from typing import Any

from emceepee.backends.lifecycle import Status
from emceepee.relay.listing import Shown


def in_brief(status: Status, working: int) -> dict[str, Any]:
    """For a line among others."""
    said: dict[str, Any] = {}
    if status.state != "connected" and status.since is not None:
        said["since"] = status.since
    if status.life == "unwell":
        said["unwell"] = True
    if status.next_try is not None:
        said["nextTryMs"] = round(status.next_try * 1000)
    if status.crash_loop:
        said["crashLoop"] = True
    counts = {"restarts": status.restarts, "workingTasks": working, "waitingCalls": status.waiters}
    return said | {key: count for key, count in counts.items() if count}


def in_full(status: Status, lists: dict[str, Shown]) -> dict[str, Any]:
    """For the one that was asked about; what `in_brief` says is said already."""
    said: dict[str, Any] = {"since": status.since, "restarts": status.restarts}
    if status.attempts:
        said["attempts"] = status.attempts
    if status.round_trip is not None:
        said["roundTripMs"] = round(status.round_trip * 1000, 1)
    if status.children:
        said["children"] = list(status.children)
    counts = {"pendingRequests": status.pending, "unreadableMessages": status.rubbish}
    said |= {key: count for key, count in counts.items() if count}
    if lists:
        said["lists"] = {name: _of_list(one) for name, one in lists.items()}
    return said | {"next": what_next(status)}


def _of_list(one: Shown) -> dict[str, Any]:
    said: dict[str, Any] = {"status": one.state}
    if one.listed is not None:
        said |= {"count": len(one.listed.items), "ageMs": round(one.age * 1000)}
    return said if one.why is None else said | {"why": one.why}


def what_next(status: Status) -> str:
    match status.life:
        case "ready":
            return "Call list_tools, then execute_tool."
        case "unwell":
            return "It does not answer our probes; calls are still sent. reconnect_server gives it up."
        case "starting":
            return "It is being connected; a call waits for that."
    if status.crash_loop:
        return f"It ends soon after each start: correct what it needs, then reconnect_server.{_again(status)}"
    if status.life == "waiting":
        return f"A call, or reconnect_server, tries at once.{_again(status)}"
    if status.last_error is not None:
        return "It is not tried by itself any more; a call, or reconnect_server, tries at once."
    return "The next call connects it."


def _again(status: Status) -> str:
    return "" if status.next_try is None else f" By itself it is tried again in {status.next_try:.0f} s."
