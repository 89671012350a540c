"""What every part of the front works with, built once by the composition root and handed on whole.

It decides nothing. The one rule: everything here lives as long as the front does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Raw

from emceepee.front.settings import FrontSettings
from emceepee.runtime.clock import Clock
from emceepee.runtime.spawn import TaskScope


@dataclass(slots=True)
class Shop:
    clock: Clock
    server_info: Raw
    """How we introduce ourselves, as `Implementation`."""
    settings: FrontSettings = field(default_factory=FrontSettings)
    tasks: TaskScope = field(default_factory=lambda: TaskScope("front"))
    draining: bool = False
