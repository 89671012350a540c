"""The revision without a handshake, 2026-07-28: every request says all that is needed to answer it."""
