"""What a report of a soak means: pure.

The one rule: counts may not grow at all; what is held may differ from moment to moment, and not grow with the calls.
"""

from __future__ import annotations

from tests.soak.run import AT_REST, Report

HELD = {"objects": 500, "blocks": 5_000, "malloc": 2**20}
"""By how much these may differ from one moment of rest to another. Measured: 40, 1,500 and
170 KiB, after 1,000 calls as after 20,000."""

MEMORY = 10 * 2**20
"""Over both rounds, nothing given back and nothing collected by us. Measured: 3 MiB."""

AGAIN = 2 * 2**20
"""In the second round, of what is in use. Measured: 0.0 to 0.4 MiB."""


def problems(report: Report) -> list[str]:
    found = [f"{name} grew from {was} to {now}" for name, (was, now) in report.after.more_than(report.before).items()]
    found += [f"{name}: {report.after.counts[name]} at rest" for name in AT_REST if report.after.counts[name]]
    if report.grown > MEMORY:
        found.append(f"memory grew by {report.grown / 2**20:.1f} MiB")
    if report.still_growing > AGAIN:
        found.append(f"memory in use still grew by {report.still_growing / 2**20:.1f} MiB in the second round")
    found += [f"{what} held: {report.more(what)} more" for what, bound in HELD.items() if report.more(what) > bound]
    for name, left in report.behind.items():
        if left["running"]:
            found.append(f"{left['running']} calls still run at the {name} server")
    for event in ("internal_error", "task_failed_unexpectedly", "task_ignored_cancellation"):
        if event in report.events:
            found.append(f"{event} was logged {report.events[event]} times")
    return found
