"""The tests. The tree mirrors `src/emceepee`: `tests/<room>/test_<file>.py`; `tests/interop` runs by `make interop`."""
