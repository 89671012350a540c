"""For how long a result may be reused, and by whom, as modern results say it.

Not here: any cache. The one rule: six results always say it, and where nobody knows they
say "not at all, and privately".
"""

from __future__ import annotations

import msgspec

from emceepee.vocabulary.outcomes import CacheHints
from emceepee.vocabulary.raw_json import Fields, read_text

CACHEABLE = frozenset(
    (
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    )
)

_UNKNOWN = b',"ttlMs":0,"cacheScope":"private"'
_ttl_decoder = msgspec.json.Decoder(int)


def write_hints(hints: CacheHints | None) -> bytes:
    """As further members of an object."""
    if hints is None:
        return _UNKNOWN
    return b',"ttlMs":%d,"cacheScope":"%s"' % (max(hints.ttl_ms, 0), hints.scope.encode())


def read_hints(fields: Fields) -> CacheHints | None:
    """What a backend said, or None when it said nothing that can be used. An unknown scope is a private one."""
    raw = fields.get("ttlMs")
    if raw is None:
        return None
    try:
        ttl = _ttl_decoder.decode(raw)
    except msgspec.DecodeError:
        return None
    public = read_text(fields.get("cacheScope")) == "public"
    return CacheHints(ttl, "public" if public else "private") if ttl >= 0 else None
