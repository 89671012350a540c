"""Whole conversations: the gateway in memory between scripted clients and servers of both eras."""
