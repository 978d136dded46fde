"""One module per side: it does the work of its benchmark once, in a process of its own, and prints one JSON line."""
