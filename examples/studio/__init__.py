"""A small studio: an MCP server that makes MIDI clips and asks the caller's model about them.

It needs mido: `pip install 'emceepee[studio]'`, or `make venv` in a checkout. `python -m examples.studio` serves it.
"""
