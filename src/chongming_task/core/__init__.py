"""The pure machines: what happens next, without I/O, clocks or threads."""
