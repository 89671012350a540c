"""Where the process begins: read the words, run one command, end with its exit code.

Nothing heavy is imported until a command needs it: clients start us and wait for the first answer (T12).

The one rule: an error that somebody can do something about is one sentence on standard error and exit code 1; a
traceback means a mistake of ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from emceepee.cli.arguments import parse
from emceepee.errors import EmceepeeError


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        code = _command(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except EmceepeeError as error:
        print(f"emceepee: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    except BrokenPipeError:
        # Whoever read our output has enough of it; Python must not complain again while it flushes at exit.
        sys.stdout = None
        return 1


def _command(options: argparse.Namespace) -> int:
    match options.command:
        case "check":
            from emceepee.cli.check import check

            return check(options)
        case "audit":
            from emceepee.cli.audit import audit

            return audit(options)
        case "tools" | "call":
            from emceepee.cli.talk import talk

            return talk(options)
        case _:
            from emceepee.cli.gateway import run_gateway

            return run_gateway(options)


if __name__ == "__main__":
    sys.exit(main())
