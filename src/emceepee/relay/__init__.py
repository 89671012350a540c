"""The middle: one call from a client to its answer.

It joins front and backends, which never meet, and sees neither a wire nor an era: only vocabulary.
"""
