"""What outlives one exchange: events, tasks, asks, notifications and log lines of one workspace.

Plain tables that are given the time and an id. Imports `vocabulary`, `runtime` and `observability`, and starts nothing.
"""
