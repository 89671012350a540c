"""What is told about what happens: log lines now, counts and traces later.

Nothing here decides anything; a line that cannot be written is dropped, and the work goes on.
"""
