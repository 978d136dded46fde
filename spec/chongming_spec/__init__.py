"""The executable specification of a task's life: data, guards and laws, without I/O, clocks or threads."""

SPEC_VERSION = "1.0"
