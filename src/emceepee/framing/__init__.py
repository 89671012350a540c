"""Bytes to messages and back, sans-IO: JSON text, lines, event streams.

No loop, socket, file or clock; every reader takes chunks of any size and has a bound. Imports `protocol.messages` and
`vocabulary.raw_json` only.
"""
