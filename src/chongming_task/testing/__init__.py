"""Help for testing tasks and what runs them."""

from chongming_task.testing.clock import FakeClock

__all__ = ["FakeClock"]
