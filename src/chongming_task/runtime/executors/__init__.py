"""Executors make carriers: each runs one attempt and reports how it ended."""
