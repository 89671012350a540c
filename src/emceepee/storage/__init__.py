"""What outlives the process: one SQLite file, and in it a table for each part that wants to be remembered.

It decides nothing: a part says by a Protocol of its own what it wants kept, and a file here does that.
"""
