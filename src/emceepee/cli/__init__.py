"""The command line: words in, exit code out.

Results go to standard output, everything else to standard error. Exit codes: 0 fine, 1 failure, 2 wrong usage.
"""
