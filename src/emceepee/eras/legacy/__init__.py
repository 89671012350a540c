"""The revisions with a handshake: 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25."""
