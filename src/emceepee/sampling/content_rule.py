"""One thing that an answer must not contain, as an operator writes it down.

The one rule: it only says so; what is done about it is `content_policy`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class ContentRule:
    """`replacement` None stops the answer."""

    name: str
    pattern: re.Pattern[str]
    replacement: str | None = None
