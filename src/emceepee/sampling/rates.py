"""How often one server may ask in one workspace: a token bucket for each pair, filled by time. No clock: it is told.

The one rule: a bucket that is forgotten is a full one, so only those that have filled up again are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeAlias

from emceepee.sampling.settings import RateSettings
from emceepee.vocabulary.names import Scope, ServerName

Key: TypeAlias = tuple[Scope, ServerName]


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    def __init__(self, settings: RateSettings | None = None) -> None:
        self._settings = settings or RateSettings()
        self._buckets: OrderedDict[Key, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Key, now: float) -> float:
        """0 when the request may pass, which it has taken its token for then; else the seconds until one may."""
        bucket = self._bucket(key, now)
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self._per_second

    @property
    def _per_second(self) -> float:
        return self._settings.per_minute / 60

    def _bucket(self, key: Key, now: float) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[key] = _Bucket(self._settings.burst, now)
        bucket.tokens, bucket.at = self._filled(bucket, now), now
        self._buckets.move_to_end(key)
        return bucket

    def _filled(self, bucket: _Bucket, now: float) -> float:
        return min(self._settings.burst, bucket.tokens + (now - bucket.at) * self._per_second)

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < self._settings.max_buckets:
            return
        full = [key for key, bucket in self._buckets.items() if self._filled(bucket, now) >= self._settings.burst]
        for key in full:
            del self._buckets[key]
        if not full:
            self._buckets.popitem(last=False)
