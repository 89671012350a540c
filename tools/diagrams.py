"""Writes docs/states.md: the diagrams of the state tables, as the gateway serves them.

    python -m tools.diagrams            print what the page should be
    python -m tools.diagrams --write    write it

The one rule: the page is what `emceepee.meta_tools.diagrams` draws; a test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

from emceepee.meta_tools.diagrams import page

PAGE = Path(__file__).parents[1] / "docs" / "states.md"


def main() -> int:
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
