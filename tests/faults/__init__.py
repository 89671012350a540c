"""Servers that break on command, and what has to come of it: the fault matrix and the chaos."""
