"""What emceepee costs: the same calls over several hops, measured side by side in one run (`make bench`).

`measures` says what is measured for each target, `comparisons`, `idle` and `starting` measure it, `hops` starts what is
measured, `backend_http` and `load` are the two ends, `targets` judges, `report` prints. It is no test of behaviour, and
it imports nothing of emceepee: it sees the gateway as users do, from outside.

The one rule: every answer is checked, and two figures are divided only when they did like work.
"""
