"""The two protocol eras, each a sealed adapter between its wire and the vocabulary.

`legacy/` speaks the four revisions with a handshake, `modern/` the one without; beside them lies what both have in
common. Not here: transports, sessions, waiting, logging. The one rule: everything in this room is a function of its
arguments, so that an era can be read, tested and replaced without a socket or a loop.
"""
