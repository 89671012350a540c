"""`server/discover`, served and asked.

Not here: what the verdict on a backend's era is (`backends.era_probe`). The one rule: we name all revisions that we
speak, of both eras; a peer looks for one of its own.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from emceepee.eras.capabilities import TASKS_EXTENSION, offered
from emceepee.eras.faults import Incomplete, Violation
from emceepee.eras.meta import SERVER_INFO
from emceepee.eras.modern.cacheable import write_hints
from emceepee.eras.modern.envelope import write_envelope
from emceepee.eras.peek import is_object
from emceepee.eras.revisions import MODERN, SUPPORTED
from emceepee.protocol.messages import ErrorObject
from emceepee.vocabulary.abilities import About
from emceepee.vocabulary.raw_json import Fields, NotThatShape, read_fields, read_text, write

_texts_decoder = msgspec.json.Decoder(list[str])


def write_discover(capabilities: Fields, server_info: Raw, instructions: str | None) -> bytes:
    """The result, for anybody and for no time at all."""
    found: dict[str, Any] = {
        "resultType": "complete",
        "supportedVersions": SUPPORTED,
        "capabilities": _with_tasks(offered(capabilities)),
        **({} if instructions is None else {"instructions": instructions}),
        **read_fields(b"{" + write_hints(None)[1:] + b"}"),
        "_meta": {SERVER_INFO: server_info},
    }
    return write(found)


def _with_tasks(capabilities: dict[str, Any]) -> dict[str, Any]:
    """Where there are tools, any of them may be run as a task by us."""
    extensions = capabilities.get("extensions", {})
    if "tools" not in capabilities or not isinstance(extensions, dict):
        return capabilities
    return capabilities | {"extensions": extensions | {TASKS_EXTENSION: {}}}


def write_discover_params(client_info: Raw, revision: str = MODERN) -> bytes:
    return write({"_meta": write_envelope(revision, client_info)})


def read_discover(result: Raw) -> tuple[list[str], About]:
    """The versions it speaks, and itself. Raises `Violation` when it is no answer to `server/discover`."""
    try:
        fields = read_fields(result)
        versions = _texts_decoder.decode(fields["supportedVersions"])
        capabilities = read_fields(fields["capabilities"])
        meta = fields.get("_meta")
        info = None if meta is None or not is_object(meta) else read_fields(meta).get(SERVER_INFO)
    except (KeyError, NotThatShape, msgspec.DecodeError):
        raise Violation("its answer to server/discover is not of that shape") from None
    kind = "complete" if "resultType" not in fields else read_text(fields["resultType"])
    if kind != "complete":
        raise Incomplete(str(kind), fields)
    return versions, About(
        capabilities=capabilities,
        server_info=info if info is not None and is_object(info) else None,
        instructions=read_text(fields.get("instructions")),
        revision=MODERN if MODERN in versions else "",
    )


def supported_by(error: ErrorObject) -> list[str] | None:
    """The list in an "unsupported version" error, or None when there is no usable one."""
    try:
        listed = None if error.data is None else read_fields(error.data).get("supported")
        return None if listed is None else _texts_decoder.decode(listed)
    except (NotThatShape, msgspec.DecodeError):
        return None
