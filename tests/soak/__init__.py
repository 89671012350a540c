"""Wear and tear: many sessions and calls with disconnects and cancellations, and a count of what is left afterwards.

`make soak` runs it in full; `tests/processes/test_soak.py` runs the same at a tenth of the size.
"""
