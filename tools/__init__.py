"""What the Makefile runs: no part of the product, and nothing in `src` imports it."""
