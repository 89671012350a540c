"""Legacy clients by name: what a session remembers, which sessions there are, when one is over.

A modern client has no session and never enters this room. Imports nothing of ours but `vocabulary`, `runtime`,
`errors`.
"""
