"""The first thing a child runs: wait for one byte on stdin, then become the real command.

The gateway sends that byte once the warden knows the child's process group, so that no command ever runs which nobody
would end. Should the gateway die in between, stdin ends and this does too, having started nothing.

It is not imported by the gateway: it runs as `python -I -S gate_program.py {keep|drop} PROGRAM ARG...` and uses only
what the interpreter has loaded anyway, to cost milliseconds.

The one rule: the command must not be able to tell that this ran. What Python changed in the process is put back, and
no file is open but its three.
"""

from __future__ import annotations

import os
import sys

MOST_FILES = 65536


def restore_signals() -> None:
    """Python ignores these, and what is ignored stays so across exec. The public module would cost as much as all of
    the rest of this program."""
    signals = __import__("_signal")
    for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ"):
        if hasattr(signals, name):
            signals.signal(getattr(signals, name), signals.SIG_DFL)


def main() -> int:
    if not os.read(0, 1):
        return 0
    _, locale_was_ours, program, *_ = sys.argv
    if locale_was_ours == "drop":
        os.environ.pop("LC_CTYPE", None)  # Python sets it where the locale is "C"
    restore_signals()
    # uvloop hands down second copies of the three pipes, and whatever the gateway itself was started with.
    os.closerange(3, MOST_FILES)
    try:
        os.execv(program, sys.argv[2:])
    except OSError as error:
        os.write(2, f"cannot execute '{program}': {error.strerror}\n".encode(errors="replace"))
    return 127


if __name__ == "__main__":
    sys.exit(main())
