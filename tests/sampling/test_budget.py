"""Budgets: set aside before, settled after, and new in each window."""

from __future__ import annotations

from emceepee.sampling.budget import Budgets, Exhausted, Reservation
from emceepee.sampling.settings import BudgetSettings


def reserved(budgets: Budgets, tokens: int, now: float = 0.0) -> Reservation:
    found = budgets.reserve("s", tokens, now)
    assert isinstance(found, Reservation)
    return found


def test_what_may_be_used_is_set_aside_so_that_two_cannot_pass_together() -> None:
    budgets = Budgets(BudgetSettings(tokens=100))
    first = reserved(budgets, 60)
    assert budgets.reserve("s", 60, 1.0) == Exhausted("100 tokens", 86_399.0, 999)
    first.settle(10, called=True)
    assert budgets.used("s", 1.0) == (1, 10)
    assert reserved(budgets, 90)


def test_what_was_not_used_is_given_back_once() -> None:
    budgets = Budgets(BudgetSettings(calls=1))
    one = reserved(budgets, 5)
    one.settle(0, called=False)
    one.settle(0, called=False)
    assert budgets.used("s", 0.0) == (0, 0)


def test_calls_are_counted_and_come_back_with_the_window() -> None:
    budgets = Budgets(BudgetSettings(calls=2, window=100))
    for _ in range(2):
        reserved(budgets, 1).settle(1, called=True)
    assert budgets.reserve("s", 1, 40.0) == Exhausted("2 calls", 60.0, 0)
    assert isinstance(budgets.reserve("t", 1, 40.0), Reservation)
    assert isinstance(budgets.reserve("s", 1, 100.0), Reservation)


def test_what_is_settled_in_the_next_window_does_not_count_there() -> None:
    budgets = Budgets(BudgetSettings(window=100))
    late = reserved(budgets, 5)
    reserved(budgets, 1, 100.0)
    late.settle(500, called=True)
    assert budgets.used("s", 100.0) == (1, 1)


def test_a_server_that_is_gone_is_forgotten() -> None:
    budgets = Budgets()
    reserved(budgets, 5)
    budgets.forget("s")
    budgets.forget("s")
    assert budgets.used("s", 0.0) == (0, 0)
