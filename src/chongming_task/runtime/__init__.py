"""What acts: threads, processes, timers, and the context a body sees. Nothing here decides about states."""
