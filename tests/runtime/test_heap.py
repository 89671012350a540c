"""What `runtime.heap` asks of the C library, in processes of their own because there is no way back."""

from __future__ import annotations

import subprocess
import sys

from emceepee.runtime.heap import keep_freed_memory

_ROUNDS = 50
_COPIES = f"""
import resource
from emceepee.runtime.heap import keep_freed_memory
was_set = keep_freed_memory({{}})
def copy_some():
    # Larger than what is kept of one result after another, as with calls that end together.
    text = b"x" * (1 << 20)
    copies = [b"".join((text, b"y")) for _ in range(3)]
    del copies
copy_some()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({_ROUNDS}):
    copy_some()
print(was_set, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_where_it_was_set_results_do_not_touch_new_pages() -> None:
    said = subprocess.run([sys.executable, "-c", _COPIES], capture_output=True, text=True, check=True, timeout=30)
    was_set, faults = said.stdout.split()
    assert was_set == "False" or int(faults) < 50 * _ROUNDS, "one result alone has 256 pages"


def test_who_chose_for_the_library_is_not_overruled() -> None:
    assert not keep_freed_memory({"MALLOC_TRIM_THRESHOLD_": "1"})
    assert not keep_freed_memory({"LD_PRELOAD": "libjemalloc.so"})
