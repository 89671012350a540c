"""How one server is reached: the record that configuration and `add_server` produce and everything behind them reads.

It is not a connection and has no state: two equal definitions are the same server, and a different one under the same
name means every connection of the old must go. It does know what is wrong with itself (`problems_with`), because the
same mistakes come from files, from tools and from the command line.

The one rule: env values, header values, and a URL's user info and query never leave through `describe`, `address` or
`repr`; those three are made for people and logs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from emceepee.backends.transport import Header
from emceepee.vocabulary.names import ServerName, server_name_problem
from emceepee.vocabulary.profiles import AskKind as AskKind
from emceepee.vocabulary.profiles import Step as Step

Affinity: TypeAlias = Literal["workspace", "principal", "call", "shared"]
HttpKind: TypeAlias = Literal["auto", "http", "sse"]

CONNECT_TIMEOUT = 10.0
MAX_TIMEOUT = 7 * 86_400.0
MAX_URL = 4096
HIDDEN = "***"


@dataclass(slots=True, frozen=True)
class StdioLaunch:
    """A child process. `env` is added to a small inherited environment; `cwd` None is the gateway's own."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    cwd: str | None = None


@dataclass(slots=True, frozen=True)
class HttpEndpoint:
    """A URL. `auto` tries Streamable HTTP and falls back to the old HTTP+SSE transport."""

    url: str = field(repr=False)
    headers: tuple[Header, ...] = field(default=(), repr=False)
    kind: HttpKind = "auto"


@dataclass(slots=True, frozen=True)
class InProcess:
    """A server in this process, by the name under which the application registered it."""

    name: str


Launch: TypeAlias = StdioLaunch | HttpEndpoint | InProcess


Concurrency: TypeAlias = Literal["parallel", "serialize"]


@dataclass(slots=True, frozen=True)
class AskPolicy:
    """Who answers what a server asks: for each kind the steps that are tried, in order; one that is not named has the
    usual ones. `ambiguous` says what becomes of a question that may be any of several calls': it is shown with one of
    them, or refused."""

    steps: tuple[tuple[AskKind, tuple[Step, ...]], ...] = ()
    ambiguous: Literal["carrier", "refuse"] = "carrier"

    def ladder(self, kind: AskKind, usual: tuple[Step, ...]) -> tuple[Step, ...]:
        return next((steps for named, steps in self.steps if named == kind), usual)

    def describe(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"asks": {kind: list(steps) for kind, steps in self.steps}} if self.steps else {}
        return shown | ({"ambiguous": self.ambiguous} if self.ambiguous != "carrier" else {})


@dataclass(slots=True, frozen=True)
class ServerDefinition:
    """`workspace` affinity gives each scope its own connection, `principal` one to all scopes of a caller; `call` gives
    each call one of its caller's, for itself alone; `shared` is for servers that keep no state per client.
    A disabled server is listed and never connected. `extras` holds keys of the file that are not ours. A
    `call_timeout` of None means that the gateway's own limits hold."""

    name: ServerName
    launch: Launch
    affinity: Affinity = "workspace"
    disabled: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    connect_timeout: float = CONNECT_TIMEOUT
    call_timeout: float | None = None
    asks: AskPolicy = AskPolicy()
    concurrency: Concurrency = "parallel"
    """Whether calls in whose course it may ask are made side by side, or one after the other, so that it is certain to
    which one a question belongs."""
    mark_calls: bool = False
    """Whether it is told a mark of each call, which it can send back with what it asks in its course."""
    idle_stop: float | None = None
    """Seconds after which a program that nobody has used is ended; the next use starts it again."""

    @property
    def address(self) -> str:
        """One word for where it is, without secrets: the seeds' `url`, also for what has none."""
        match self.launch:
            case HttpEndpoint(url=url):
                return shown_url(url)
            case StdioLaunch(command=command):
                return f"stdio:{command}"
            case InProcess(name=name):
                return f"memory:{name}"

    def describe(self) -> dict[str, Any]:
        """For listings: everything a person needs to recognise it, nothing that grants anything."""
        shown: dict[str, Any] = {"name": self.name, "url": self.address}
        match self.launch:
            case HttpEndpoint(headers=headers, kind=kind):
                shown |= {"transport": "http" if kind == "auto" else kind, "headers": [name for name, _ in headers]}
            case StdioLaunch(command=command, args=args, env=env, cwd=cwd):
                shown |= {"transport": "stdio", "command": command, "args": list(shown_args(args)), "env": sorted(env)}
                shown |= {"cwd": cwd} if cwd else {}
            case InProcess():
                shown["transport"] = "memory"
        shown |= {"affinity": self.affinity} | self.asks.describe()
        shown |= {"concurrency": self.concurrency} if self.concurrency != "parallel" else {}
        return shown | ({"disabled": True} if self.disabled else {})


def fingerprint(definition: ServerDefinition) -> str:
    """Another one where what is reached is another server. Made of nothing that is secret, so it may be kept: other
    credentials at the same place make no other server."""
    shown = definition.describe() | {"disabled": False}
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:24]


def http_endpoint(url: str, headers: Sequence[Header] = (), kind: HttpKind = "auto") -> HttpEndpoint:
    """An endpoint from a URL as people write it: a user and password in it become the header that they mean."""
    parts = _split(url)
    if parts is None or "@" not in parts.netloc:
        return HttpEndpoint(url, tuple(headers), kind)
    userinfo, _, host = parts.netloc.rpartition("@")
    bare = urlunsplit(parts._replace(netloc=host))
    if any(name.lower() == "authorization" for name, _ in headers):
        return HttpEndpoint(bare, tuple(headers), kind)
    credentials = userinfo if ":" in userinfo else f"{userinfo}:"
    token = base64.b64encode(unquote(credentials).encode()).decode()
    return HttpEndpoint(bare, (*headers, ("Authorization", f"Basic {token}")), kind)


def shown_url(url: str) -> str:
    """The URL without user info, query and fragment; a placeholder when it cannot be read at all."""
    parts = _split(url)
    if parts is None or not parts.scheme:
        return "(unreadable url)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


_secret_flag = re.compile(r"--?[\w.-]*(?:token|secret|passw|api-?_?key|credential|authorization)[\w.-]*", re.IGNORECASE)
_header_flag = frozenset(("-H", "--header", "--headers"))


def shown_args(args: Sequence[str]) -> Iterator[str]:
    """Arguments with what follows a secret's flag masked, and URLs among them without their secrets."""
    hide_next = False
    for arg in args:
        flag, equals, value = arg.partition("=")
        is_secret = bool(_secret_flag.fullmatch(flag)) or flag in _header_flag
        if hide_next and not arg.startswith("--"):
            yield HIDDEN
        elif is_secret and equals:
            yield f"{flag}={HIDDEN}"
        elif "://" in value:
            yield f"{flag}={shown_url(value)}" if "://" not in flag else shown_url(arg)
        else:
            yield shown_url(arg) if "://" in arg else arg
        hide_next = is_secret and not equals


def problems_with(definition: ServerDefinition) -> list[tuple[str, str]]:
    """What makes a definition unusable: for each mistake the field, and what is wrong, as a sentence."""
    found: list[tuple[str, str]] = []
    if problem := server_name_problem(definition.name):
        found.append(("name", problem))
    limits = {"connect_timeout": definition.connect_timeout, "timeout": definition.call_timeout}
    for limit, seconds in {**limits, "idle_stop": definition.idle_stop}.items():
        if seconds is not None and not 0 < seconds <= MAX_TIMEOUT:
            found.append((limit, f"the time limit must be more than 0 and at most {MAX_TIMEOUT:.0f} seconds"))
    match definition.launch:
        case HttpEndpoint(url=url, headers=headers):
            problem = url_problem(url)
            found += [("url", problem)] if problem else []
            found += _header_problems(headers)
        case StdioLaunch() as launch:
            found += _launch_problems(launch)
    return found


def url_problem(url: str) -> str | None:
    """Why this cannot be a server's URL, as a sentence that never repeats the URL's secrets."""
    if any(ord(char) <= 0x20 or ord(char) == 0x7F for char in url):
        return "the URL contains a space or a control character"
    if len(url) > MAX_URL:
        return f"the URL has {len(url)} characters; at most {MAX_URL} are taken"
    parts = _split(url)
    if parts is None:
        return "the URL cannot be read; check its host and port"
    if parts.scheme.lower() not in ("http", "https"):
        return f"the URL has the scheme '{parts.scheme[:20]}'; only http and https are reached"
    return None if parts.hostname else "the URL has no host"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None


_header_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_header_value = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")


def _header_problems(headers: Sequence[Header]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        if not _header_name.match(name):
            yield f"headers.{name}", "this cannot be the name of a header"
        elif not _header_value.match(value):
            yield f"headers.{name}", "the value holds a line break, a control character, or letters beyond Latin-1"


def _launch_problems(launch: StdioLaunch) -> Iterator[tuple[str, str]]:
    if not launch.command.strip():
        yield "command", "the command is empty"
    texts = {"command": launch.command, "cwd": launch.cwd or ""}
    texts |= {f"args[{index}]": arg for index, arg in enumerate(launch.args)}
    texts |= {f"env.{name}": value for name, value in launch.env.items()}
    for where, text in texts.items():
        if "\0" in text:
            yield where, "it holds a NUL character"
    for name in launch.env:
        if not name or "=" in name or "\0" in name:
            yield f"env.{name}", "this cannot be the name of a variable"
