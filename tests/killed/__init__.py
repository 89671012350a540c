"""`make killed`: clients of a real gateway are killed in the middle of calls, and everything is counted afterwards.

Not part of `make test` in full; `tests/processes/test_killed_clients.py` does some of it. The one rule: what a client
has read is what the system copied into its memory, which is looked at from outside; nobody has to say so.
"""
