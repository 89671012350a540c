"""`python -m examples.studio` serves the studio: on standard streams for a client that starts it, or over HTTP with
`--http PORT`. A configuration with models (`--config FILE`) answers where the client has none.

The one rule: nothing is on standard output but the protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from emceepee.app import serve_http, serve_stdio
from emceepee.config.load import load
from emceepee.observability import log_lines
from examples.studio.server import make_studio


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.studio", description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT", help="0 for any free one")
    parser.add_argument("--config", action="append", default=[], metavar="FILE")
    options = parser.parse_args()
    loaded = load(options.config, os.environ if options.config else {}, Path.cwd() if options.config else Path(os.sep))
    for problem in loaded.problems:
        print(problem, file=sys.stderr)
    log_lines.start(loaded.settings.log_level)
    studio = make_studio()
    if options.http is None:
        asyncio.run(serve_stdio(loaded.settings, [], "/servers/studio/mcp", local=[studio]))
    else:
        settings = replace(loaded.settings, port=options.http)
        asyncio.run(serve_http(settings, [], lambda url: print(url, file=sys.stderr, flush=True), local=[studio]))


if __name__ == "__main__":
    main()
