"""How long the state machines of this room run: short in the suite, long when `SOAK_STEPS` says so.

The one rule: `SOAK_STEPS` counts steps of one machine, examples times steps of each.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_STEPS_OF_ONE = 50
_STEPS = int(os.environ.get("SOAK_STEPS", "2500"))

SETTINGS = settings(
    max_examples=max(1, _STEPS // _STEPS_OF_ONE),
    stateful_step_count=_STEPS_OF_ONE,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
