"""`make interop`: other people's clients in front of the gateway, other people's servers behind it.

Not part of `make test`: the programs are installed into `.cache` on first use, each in an environment of its own. The
one rule: only a registry that cannot be reached makes a test here skip.
"""
