"""The real program, which on SIGUSR1 collects garbage, gives free memory back, and says what is left in use.

Only so can what is held be told from what merely lies about: a serving gateway looks for circles seldom and keeps freed
memory for the next large result. The one rule:
without the signal it is `emceepee`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import signal
import sys
from types import FrameType

from emceepee.cli.main import main

EVENT = "held"


class _MallInfo(ctypes.Structure):
    """glibc's `mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def malloc_in_use() -> int:
    """Bytes that C code and large Python objects hold; 0 where nobody tells."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return int(info.uordblks) + int(info.hblkhd)


def tell(_number: int, _frame: FrameType | None) -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    held = {"objects": len(gc.get_objects()), "blocks": sys.getallocatedblocks(), "malloc": malloc_in_use()}
    sys.stderr.write(json.dumps({"event": EVENT, "data": held}) + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, tell)
    sys.exit(main())
