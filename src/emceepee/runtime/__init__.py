"""The only door to time, chance and tasks.

The one rule: outside this room nobody imports `time`, `random`, `secrets` or `uuid`, or starts a task; they are given a
`Clock`, an `Ids` or a `TaskScope`. That is what lets tests own time and order.
"""
