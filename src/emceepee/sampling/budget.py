"""What each server has used of its calls and tokens in the current window. No clock: it is told.

What a request may use is set aside before it runs, so that many at once cannot pass together; what it did use takes
that place afterwards.

The one rule: every reservation is settled, with what was used or with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from emceepee.sampling.settings import BudgetSettings
from emceepee.vocabulary.names import ServerName


@dataclass(slots=True)
class _Account:
    since: float
    calls: int = 0
    tokens: int = 0


@dataclass(slots=True, frozen=True)
class Exhausted:
    """`seconds` until the window ends, and what is left of calls until then."""

    what: str
    seconds: float
    calls_left: int


@dataclass(slots=True)
class Reservation:
    account: _Account
    tokens: int
    settled: bool = False

    def settle(self, used: int, called: bool) -> None:
        """`called` is whether a model was asked at all. Twice is harmless."""
        if self.settled:
            return
        self.settled = True
        self.account.tokens += used - self.tokens
        self.account.calls -= 0 if called else 1


class Budgets:
    def __init__(self, settings: BudgetSettings | None = None) -> None:
        self._settings = settings or BudgetSettings()
        self._accounts: dict[ServerName, _Account] = {}

    def reserve(self, server: ServerName, tokens: int, now: float) -> Reservation | Exhausted:
        account = self._account(server, now)
        limits, left = self._settings, self._settings.calls - account.calls
        seconds = account.since + limits.window - now
        if left < 1:
            return Exhausted(f"{limits.calls} calls", seconds, 0)
        if account.tokens + tokens > limits.tokens:
            return Exhausted(f"{limits.tokens} tokens", seconds, left)
        account.calls += 1
        account.tokens += tokens
        return Reservation(account, tokens)

    def used(self, server: ServerName, now: float) -> tuple[int, int]:
        """Calls and tokens in the current window."""
        account = self._account(server, now)
        return account.calls, account.tokens

    def forget(self, server: ServerName) -> None:
        self._accounts.pop(server, None)

    def _account(self, server: ServerName, now: float) -> _Account:
        account = self._accounts.get(server)
        if account is None or now - account.since >= self._settings.window:
            account = self._accounts[server] = _Account(now)
        return account
