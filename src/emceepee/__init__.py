"""emceepee: one MCP endpoint through which any client reaches any MCP server.

The rooms, and who may enter which, are listed in `docs/design.md` and held by `tests/test_imports.py`. A call walks
front -> eras -> relay -> backends and comes back the same way; `docs/life-of-a-call.md` follows one, file by file.
"""

__version__ = "0.1.0"
