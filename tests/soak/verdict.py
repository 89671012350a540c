"""What a report of a soak means: pure.

The one rule: counts may not grow at all; memory may grow by what a heap scatters, and not with the number of calls.
"""

from __future__ import annotations

from tests.soak.run import AT_REST, Report

MEMORY = 10 * 2**20


def problems(report: Report) -> list[str]:
    found = [f"{name} grew from {was} to {now}" for name, (was, now) in report.after.more_than(report.before).items()]
    found += [f"{name}: {report.after.counts[name]} at rest" for name in AT_REST if report.after.counts[name]]
    if report.grown > MEMORY:
        found.append(f"memory grew by {report.grown / 2**20:.1f} MiB")
    for name, left in report.behind.items():
        if left["running"]:
            found.append(f"{left['running']} calls still run at the {name} server")
    for event in ("internal_error", "task_failed_unexpectedly", "task_ignored_cancellation"):
        if event in report.events:
            found.append(f"{event} was logged {report.events[event]} times")
    return found
