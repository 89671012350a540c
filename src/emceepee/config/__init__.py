"""From files to definitions and settings: read with places, checked all at once, merged.

Parts of the gateway never import this room; they are given values.
"""
