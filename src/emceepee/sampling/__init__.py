"""Sampling: what a server may ask of a language model, and everything that stands between the two.

It knows no wire and no client. A request comes in as a plain value and leaves as a plain value or as an exact refusal.
"""
