"""A handle controls a task while it runs: pause, resume, stop. Every answer says what is really so."""

from __future__ import annotations

import threading

from chongming_task import AttemptsExhausted, InvalidTransition, TaskContext, TaskRun, task

working = threading.Event()


@task
def work(ctx: TaskContext) -> None:
    """Work until somebody asks it to end."""
    while True:
        ctx.checkpoint()
        working.set()
        ctx.sleep(0.01)


run = TaskRun(work, task_id="worker").start()
working.wait()

print("pause: ", run.pause(actor="ann", reason="look at it"), run.status)
print("again: ", run.do("pause").changed, "(already so: nothing recorded)")
print("resume:", run.resume(actor="ann"), run.status)
print("stop:  ", run.stop(actor="ann", reason="end of shift"), "(asked; the body still has its grace window)")

outcome = run.wait(timeout=30)
print("ended: ", outcome.status)

try:
    run.pause()
except InvalidTransition as refused:
    print("refused:", refused)

for record in run.transitions:
    print(f"{record.version:2} {record.from_status or '-':9} -> {record.to_status:9} {record.trigger}")

# A person may revive what ended without success: within its budget of attempts, or by force.
try:
    run.retry(actor="ann")
except AttemptsExhausted as refused:
    print("refused; needed:", refused.sentence)
working.clear()
run.retry(force=True, actor="ann", reason="one more shift")
working.wait()
run.cancel(actor="planner", reason="not needed today")
print("ended: ", run.wait(timeout=30).status, "in attempt", run.snapshot.attempt)
