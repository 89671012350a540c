"""What can be said on the command line, and how it is explained.

It runs nothing and imports no part of the gateway but its settings' names, so that `--help` is instant.

The one rule: an option has one spelling in all commands that have it, and whatever follows `--` is a server's own
command line, which is never looked into.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from emceepee import __version__

_EXAMPLES = """examples:
  emceepee                                     what a client's configuration starts: all servers, on stdio
  emceepee serve --port 8080                   the same over HTTP
  emceepee check mcp.json                      every mistake of a configuration, with its cure
  emceepee tools http://127.0.0.1:8080/mcp     the tools of any server or gateway
  emceepee tools -- npx -y @modelcontextprotocol/server-everything
  emceepee call files read_file --arg path=/tmp/x
  emceepee call echo --arg text=hello -- python server.py
"""

_META = "meta"

_TARGET = "a URL, or the name of a configured server; or none, and after '--' the command that starts a server"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options as a namespace with `command` (None for the plain one) and `launch` (what followed `--`). Ends the
    process with 2 for what nobody can mean, like every such parser."""
    words = list(argv)
    launch = words[words.index("--") + 1 :] if "--" in words else None
    parser = make_parser()
    options = parser.parse_args(words[: words.index("--")] if "--" in words else words)
    options.launch = launch
    if options.command is not None and options.surface != _META:
        parser.error("--surface is for standard streams; over HTTP each surface has a path of its own")
    if launch is not None and options.command not in ("tools", "call"):
        parser.error("'--' and a server's command belong to 'tools' and 'call'; servers are added in a configuration")
    if launch == []:
        parser.error("the command that starts the server is missing after '--'")
    return options


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="emceepee",
        description="One MCP endpoint through which any client reaches any MCP server.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"emceepee {__version__}")
    parser.add_argument(
        "--surface",
        default=_META,
        metavar="meta|direct|server:NAME",
        help="what stdio serves: the meta-tools (default), all servers merged, or one server as it is",
    )
    _gateway_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="command", title="commands")
    _add_serve(commands.add_parser("serve", help="serve over HTTP", allow_abbrev=False))
    check = commands.add_parser("check", help="look for mistakes in configuration files", allow_abbrev=False)
    check.add_argument("files", nargs="*", metavar="FILE", help="default: the files that the gateway would use")
    check.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    tools = commands.add_parser("tools", help="list the tools of a server", allow_abbrev=False)
    tools.add_argument("words", nargs="*", metavar="TARGET", help=_TARGET)
    _add_talking(tools)
    call = commands.add_parser("call", help="call a tool of a server", allow_abbrev=False)
    call.add_argument("words", nargs="+", metavar="TARGET TOOL", help=_TARGET)
    call.add_argument(
        "--arg",
        "-a",
        action="append",
        default=[],
        metavar="NAME=VALUE|{…}",
        help="an argument: JSON where it reads as JSON, text otherwise; or all of them as one JSON object",
    )
    _add_talking(call)
    _add_audit(commands.add_parser("audit", help="read the records of sampling", allow_abbrev=False))
    return parser


def _add_audit(audit: argparse.ArgumentParser) -> None:
    audit.add_argument("file", nargs="?", metavar="FILE", help="default: the one of the configuration")
    audit.add_argument("--config", action="append", default=argparse.SUPPRESS, metavar="FILE")
    audit.add_argument("--server", metavar="NAME", help="only this server's")
    audit.add_argument("--workspace", metavar="LABEL", help="only this workspace's, by its label in the records")
    audit.add_argument("--outcome", choices=["answered", "refused", "failed", "cancelled"])
    audit.add_argument("--limit", type=_count, default=100, metavar="N", help="the newest so many (default: 100)")
    audit.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def _add_serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", type=_port, help="the port to listen on (default: 8080; 0 for any)")
    serve.add_argument("--allow-origin", action="append", default=[], metavar="ORIGIN", help="web origin that may call")
    serve.add_argument("--allow-host", action="append", default=[], metavar="NAME", help="Host header that is ours")
    serve.add_argument(
        "--insecure-no-auth",
        action="store_true",
        help="listen beyond this machine although nobody has to prove who they are",
    )
    _gateway_options(serve, argparse.SUPPRESS)


def _gateway_options(parser: argparse.ArgumentParser, default: object = None) -> None:
    """What the plain command and `serve` share; a sub-parser must not overwrite what stood before its name."""
    parser.add_argument("--config", action="append", default=default, metavar="FILE", help="may be given several times")
    parser.add_argument(
        "--profile",
        choices=["full", "core"],
        default=default,
        help="which meta-tools are offered: all (default), or the few that calling a tool needs",
    )
    parser.add_argument(
        "--state",
        default=default,
        metavar="FILE",
        help="keep added servers and tasks there (default: a file in your state folder for 'serve', none on stdio)",
    )
    parser.add_argument(
        "--no-state", action="store_true", default=default, help="forget added servers and tasks at the end"
    )
    parser.add_argument("--log-level", choices=["debug", "info", "warn", "error"], default=default)
    parser.add_argument("--log-format", choices=["auto", "json", "text"], default=default)
    parser.add_argument(
        "--timeout",
        action="append",
        default=default,
        metavar="NAME=SECONDS",
        help="one of the time limits of the configuration, such as execute=300",
    )


def _add_talking(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(usage_error=parser.error)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--config", action="append", default=argparse.SUPPRESS, metavar="FILE")
    parser.add_argument("--header", "-H", action="append", default=[], metavar="NAME: VALUE", help="for a URL")
    parser.add_argument("--env", "-e", action="append", default=[], metavar="NAME=VALUE", help="for a command")
    parser.add_argument("--wait", type=_seconds, default=60.0, metavar="SECONDS", help="for the answer (default: 60)")
    parser.add_argument("--log-level", choices=["debug", "info", "warn", "error"], default=argparse.SUPPRESS)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError("this has to be a whole number, more than 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError("this has to be a number of seconds, more than 0")
    return seconds
