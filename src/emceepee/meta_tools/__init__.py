"""The fixed set of tools through which everything behind the gateway is reached, whatever the client can do.

A group of tools is one file; `table` joins them; `surface` offers them. Imports the relay, never the front.
"""
