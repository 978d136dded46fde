"""Tasks people can control and trust.

Everything a user of tasks needs is importable from here; `chongming_task.testing` has the fake clock. Importing this
package is light: what only some users need (asyncio, subprocess) is imported where it is used.
"""

from chongming_spec import SPEC_VERSION
from chongming_spec.states import REVIVABLE, TERMINAL
from chongming_spec.transitions import TRANSITIONS
from chongming_task.clock import Clock
from chongming_task.core.state_machine import StateMachine
from chongming_task.decorators import task
from chongming_task.errors import (
    AttemptsExhausted,
    CarrierStillRunning,
    CircularDependency,
    ConcurrencyConflict,
    ConfigurationError,
    DependencyFailed,
    Fenced,
    InternalError,
    InvalidTransition,
    StoreCorruption,
    StoreError,
    TaskCancelled,
    TaskError,
    TaskExecutionError,
    TaskExists,
    TaskTimeout,
    UnknownTask,
)
from chongming_task.models import (
    AttemptRecord,
    Failure,
    FailureKind,
    Progress,
    RequestedAction,
    TaskOutcome,
    TaskSnapshot,
    TaskStatus,
    Transition,
)
from chongming_task.policies import ExponentialBackoff, FixedBackoff, Jitter, RetryPolicy, Timeout
from chongming_task.run import TaskRun, run_task
from chongming_task.runtime.cancellation import CancellationToken
from chongming_task.runtime.context import TaskContext
from chongming_task.runtime.executors.inline import InlineExecutor
from chongming_task.runtime.executors.thread import ThreadExecutor

__version__ = "0.1.0"

__all__ = [
    # a task and its run
    "task",
    "TaskContext",
    "run_task",
    "TaskRun",
    "TaskOutcome",
    # policies
    "RetryPolicy",
    "FixedBackoff",
    "ExponentialBackoff",
    "Jitter",
    "Timeout",
    # what runs it
    "ThreadExecutor",
    "InlineExecutor",
    "CancellationToken",
    "Clock",
    # what can be read of it
    "TaskStatus",
    "TaskSnapshot",
    "Progress",
    "Failure",
    "FailureKind",
    "AttemptRecord",
    "Transition",
    "RequestedAction",
    # the state model
    "TRANSITIONS",
    "TERMINAL",
    "REVIVABLE",
    "StateMachine",
    # errors
    "TaskError",
    "InvalidTransition",
    "CarrierStillRunning",
    "AttemptsExhausted",
    "DependencyFailed",
    "CircularDependency",
    "TaskTimeout",
    "TaskExecutionError",
    "ConcurrencyConflict",
    "Fenced",
    "StoreError",
    "StoreCorruption",
    "ConfigurationError",
    "TaskExists",
    "UnknownTask",
    "InternalError",
    "TaskCancelled",
    # versions
    "__version__",
    "SPEC_VERSION",
]
