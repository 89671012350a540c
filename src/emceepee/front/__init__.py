"""Clients come in here: HTTP and standard streams, both eras.

It translates between a wire and `relay.surface.Surface` and decides nothing about backends. `front/answers.py` is the
one place where an error becomes a code and a status.
"""
