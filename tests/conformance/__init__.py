"""`make conformance`: the official suite, against a reference server and through the gateway in front of it.

    python -m tests.conformance --help

Not part of `make test`, save `test_verdicts.py`, which shows how the runs are judged. The one rule: what passes
directly and is lost through the gateway fails the run, unless `other_era.json` names it and says why.
"""
