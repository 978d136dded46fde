"""Where tasks are kept: the protocol, and the stores that come with the library."""
