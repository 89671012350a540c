"""What stands between load and backend: nothing, nginx, HAProxy, FastMCP's proxy, or emceepee as users start it.

Each other one is started with the cheapest settings that still relay MCP, one process or worker each, without logs of
calls. It measures nothing. The one rule: a hop that cannot be had is `Missing` with its cure, and the comparison that
needs it is skipped aloud; nothing is ever compared with a stand-in.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import ROOT, Program, free_port
from bench.wire import Place

EMCEEPEE = str(Path(sys.executable).with_name("emceepee"))
_INTEROP_LOCK = ROOT / "requirements-interop.lock"
_FASTMCP_HOME = ROOT / ".cache" / "fastmcp"
_INSTALL_SECONDS = 600.0


@dataclass(slots=True, frozen=True)
class Missing:
    what: str
    cure: str


@dataclass(slots=True, frozen=True)
class Hop:
    """A way for calls. `program` is what is measured; `without` names children that are not part of it."""

    name: str
    program: Program
    place: Place
    without: str = ""

    def cpu(self) -> float:
        return self.program.cpu(self.without)


_NGINX = """
worker_processes 1;
daemon off;
pid {home}/nginx.pid;
error_log {home}/nginx.log warn;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {home}/body;
  proxy_temp_path {home}/temp;
  client_max_body_size 8m;
  keepalive_requests 100000000;
  upstream backend {{ server 127.0.0.1:{backend}; keepalive 512; keepalive_requests 100000000; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""

_HAPROXY = """
global
  nbthread 1
  maxconn 8192
defaults
  mode http
  timeout connect 10s
  timeout client 300s
  timeout server 300s
  http-reuse always
frontend calls
  bind 127.0.0.1:{port}
  default_backend backend
backend backend
  server backend 127.0.0.1:{backend}
"""


class Street:
    """Starts programs for one run in one directory, and stops them all at its end."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._programs: list[Program] = []
        self.backend_port = free_port()
        self.backend = self._start(
            "backend", [sys.executable, "-m", "bench.backend_http", str(self.backend_port)], self.backend_port
        )

    def close(self) -> None:
        for program in reversed(self._programs):
            program.stop()
        self._programs.clear()

    def stop(self, program: Program) -> None:
        program.stop()
        self._programs.remove(program)

    def direct(self, path: str) -> Hop:
        return Hop("direct", self.backend, Place(self.backend_port, path))

    def nginx(self, path: str) -> Hop | Missing:
        return self._plain("nginx", _NGINX, ["-e", f"{self._home}/nginx.log", "-c"], path)

    def haproxy(self, path: str) -> Hop | Missing:
        return self._plain("haproxy", _HAPROXY, ["-q", "-db", "-f"], path)

    def fastmcp(self, era: str) -> Hop | Missing:
        python = fastmcp_python()
        if isinstance(python, Missing):
            return python
        port = free_port()
        script = str(ROOT / "bench" / "fastmcp_proxy.py")
        program = self._start("fastmcp", [python, script, era, self.backend_url(f"/{era}"), str(port)], port)
        return Hop("fastmcp", program, Place(port, "/mcp"))

    def gateway(self, servers: Mapping[str, Any], under: Sequence[str] = ()) -> tuple[Program, int]:
        """emceepee with these servers, in front of nobody yet. `under` is a profiler's command, put before ours."""
        port = free_port()
        config = self.config(servers)
        state = str(config.with_suffix(".sqlite3"))
        command = [*under, EMCEEPEE, "serve", "--config", str(config), "--port", str(port), "--state", state]
        return self._start("emceepee", command, port), port

    def program(self, name: str, command: Sequence[str], port: int) -> Program:
        """Another one that a measure needs."""
        return self._start(name, command, port)

    def config(self, servers: Mapping[str, Any]) -> Path:
        path = self._home / f"servers-{free_port()}.json"
        path.write_text(json.dumps({"mcpServers": dict(servers)}))
        return path

    def backend_url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.backend_port}{path}"

    def http_server(self, path: str) -> dict[str, Any]:
        return {"type": "http", "url": self.backend_url(path)}

    def stdio_server(self, era: str) -> dict[str, Any]:
        return {"command": sys.executable, "args": ["-m", STDIO_BACKEND, era], "cwd": str(ROOT)}

    def _plain(self, name: str, template: str, options: Sequence[str], path: str) -> Hop | Missing:
        found = shutil.which(name, path=f"{sys.exec_prefix}/bin:/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        if found is None:
            return Missing(name, f"install it (Debian, Ubuntu: apt-get install {name})")
        port = free_port()
        config = self._home / f"{name}-{port}.conf"
        config.write_text(template.format(home=self._home, port=port, backend=self.backend_port))
        program = self._start(name, [found, *options, str(config)], port)
        return Hop(name, program, Place(port, path))

    def _start(self, name: str, command: Sequence[str], port: int) -> Program:
        program = Program(name, command, self._home / f"{name}-{port}.log")
        self._programs.append(program)
        program.wait_for_port(port)
        return program


STDIO_BACKEND = "bench.backend_stdio"

SURFACES = {
    "emceepee /servers": Place(0, "/servers/bench/mcp"),
    "emceepee /direct": Place(0, "/direct/mcp", prefix="bench__"),
    "emceepee /mcp": Place(0, "/mcp"),
}
"""Where calls for the server `bench` go on each surface, and what its tools are called there."""


def fastmcp_python() -> str | Missing:
    """A Python that has the FastMCP of the interop lock: made once, kept in the cache, away from our own packages."""
    made, python = _FASTMCP_HOME / "made", _FASTMCP_HOME / "bin" / "python"
    wanted = hashlib.sha256(_INTEROP_LOCK.read_bytes()).hexdigest()
    if made.exists() and made.read_text() == wanted and python.exists():
        return str(python)
    print(f"installing {_INTEROP_LOCK.name} in {_FASTMCP_HOME}, once …", file=sys.stderr, flush=True)
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r"]
    try:
        for step in (["sh", "tools/make_venv.sh", str(_FASTMCP_HOME)], [*install, str(_INTEROP_LOCK)]):
            subprocess.run(step, cwd=ROOT, check=True, timeout=_INSTALL_SECONDS, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return Missing("FastMCP", f"its packages have to be installable: {error}")
    made.write_text(wanted)
    return str(python)
