"""The words every room speaks: calls, outcomes, notices, names, abilities.

No era, no wire, no I/O, no clock. Imports nothing of ours but `errors`.
"""
