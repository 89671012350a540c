"""Servers are reached from here: registry, connections, transports.

Never imports the front, the sessions or the relay; what comes unasked leaves through callbacks given at construction.
"""
