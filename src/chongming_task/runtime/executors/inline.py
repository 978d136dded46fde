"""The body runs in the thread that asks for it: no thread, no delay, and no pause (D8).

`launch` only prepares; `InlineCarrier.run` is the call. KeyboardInterrupt and SystemExit are recorded first and
then raised again to the caller (D20). A stop from another thread reaches the body as usual.
"""

from __future__ import annotations

from chongming_spec.errors import ConfigurationError
from chongming_task.core.ports import ExecutionRequest, Sink
from chongming_task.runtime.executors.base import BodyCarrier, check_request
from chongming_task.runtime.targets import is_async, name_of


class InlineCarrier(BodyCarrier):
    """One attempt in its caller's thread."""

    def __init__(self, request: ExecutionRequest, sink: Sink) -> None:
        super().__init__(request, sink, pausable=False)

    def run(self) -> None:
        """Carry it out. Raises only what is fatal: KeyboardInterrupt or SystemExit of the body, after `exited`."""
        ending = self.perform()
        self.finish(ending)
        if ending.fatal is not None:
            raise ending.fatal


class InlineExecutor:
    """Runs bodies in the calling thread, to their end."""

    name = "inline"

    def check(self, request: ExecutionRequest) -> None:
        """ConfigurationError if the target is no body, the arguments do not fit, or an event loop runs in this
        thread.
        """
        check_request(request)
        if is_async(request.target):
            from chongming_task.runtime.coroutines import has_running_loop

            if has_running_loop():
                raise ConfigurationError(
                    f"{name_of(request.target)} is async and cannot run inline inside a running event loop: "
                    "use ThreadExecutor()"
                )

    def launch(self, request: ExecutionRequest, sink: Sink) -> InlineCarrier:
        """Prepare it; `run` of the result does the work."""
        return InlineCarrier(request, sink)
