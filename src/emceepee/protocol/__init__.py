"""JSON-RPC, sans-IO: messages in, events out, messages to send, next deadline.

No clock, loop, log or wire; time is an argument. Imports nothing of ours but `errors` and `vocabulary.raw_json`.
"""
