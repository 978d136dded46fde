"""The store contract for what writes rows: creation, saves, attempts (D22, D24)."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import attrs

from chongming_spec.errors import (
    ConcurrencyConflict,
    ConfigurationError,
    Fenced,
    StoreCorruption,
    StoreError,
    TaskError,
    TaskExists,
    UnknownTask,
)
from chongming_spec.snapshot import AttemptRecord, Transition
from chongming_spec.stores import Completion, CreateRequest, SaveRequest
from chongming_task.testing._contract import OTHER, OWNER, RUN, ContractBase, law, raises, send


class CreateContract(ContractBase):
    """`create`, `get`, `arguments`."""

    @law("create", "row and first record appear together or not at all")
    def test_a_creation_is_whole_or_nothing(self) -> None:
        """D22: a good creation is a row with its history; a bad record leaves neither behind."""
        store = self.make_store()
        life = self.life()
        forged = [attrs.evolve(life.records()[0], trigger="nobody:knows")]
        with raises(StoreCorruption):
            store.create(life.machine.snapshot, transitions=forged)
        with raises(ConfigurationError):
            store.create(life.machine.snapshot, transitions=())
        assert self.all_of(store) == (None, [], [], None, {}, [])
        row = life.create(store)
        assert store.get("t") == row
        assert [one.version for one in store.history("t")] == [1]

    @law("create", "the same submission_id again is the same task")
    def test_a_submission_sent_again_is_the_same_task(self) -> None:
        """D22: whoever did not hear the answer sends it again, perhaps under a new id, and gets the first task."""
        store = self.make_store()
        first = self.life().create(store, submission_id="s", arguments={"n": 1})
        assert self.life().create(store, submission_id="s", arguments={"n": 2}) == first
        assert self.life("u").create(store, submission_id="s").task_id == "t"
        assert store.arguments("t") == {"n": 1}
        assert sum(store.counts().values()) == 1

    @law("create", "an id that exists is refused with its present status")
    def test_a_taken_id_is_refused(self) -> None:
        """D22: TaskExists says what the task is now; another submission is not the same."""
        store = self.make_store()
        life = self.stored(store, "t", "start")
        before = self.all_of(store)
        with raises(TaskExists) as caught:
            self.life().create(store, submission_id="another")
        assert caught[0].__dict__["status"] == life.machine.status
        assert self.all_of(store) == before

    @law("create", "the epoch is drawn from a store-wide sequence")
    def test_epochs_are_drawn_store_wide(self) -> None:
        """D24: no two tasks begin under one epoch; the row, its record and the answer carry the drawn one."""
        store = self.make_store()
        epochs = []
        for task_id in ("a", "b", "c"):
            row = self.life(task_id).create(store)
            assert [one.epoch for one in store.history(task_id)] == [row.epoch] == [store.get(task_id).epoch]
            epochs.append(row.epoch)
        assert epochs == sorted(set(epochs))

    @law("create")
    def test_arguments_are_kept_as_they_were(self) -> None:
        """D40: what the caller changes afterwards, on its side or on what it read, is not stored."""
        store = self.make_store()
        given: dict[str, Any] = {"a": [1, {"b": None}], "c": 0.5}
        self.life().create(store, arguments=given)
        given["a"].append(2)
        store.arguments("t")["a"].append(3)
        assert store.arguments("t") == {"a": [1, {"b": None}], "c": 0.5}
        assert store.arguments("nobody") is None

    @law("get", "what was acknowledged is found")
    def test_what_was_acknowledged_is_found(self) -> None:
        """Every write that returned is there for whoever opens the store next; an unknown id is None (P-101)."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN)
        row = life.does("mark_succeeded", outcome={"k": [1]}).save(store)
        store = self.reopen(store)
        assert store.get("t") == attrs.evolve(row, lease_owner=None, lease_until=None)
        assert store.history("t")[-1].to_status == row.status
        assert len(store.attempts("t")) == 1
        assert store.get("nobody") is None

    @law("get")
    def test_an_outcome_read_is_the_readers_own(self) -> None:
        """What a reader does to an outcome does not reach the store."""
        store = self.make_store()
        self.stored(store, "t", *RUN).does("mark_succeeded", outcome={"k": [1]}).save(store)
        store.get("t").outcome["k"].append(2)
        store.query()[0].outcome["k"].append(2)
        assert store.get("t").outcome == {"k": [1]}


class SaveContract(ContractBase):
    """`save`, `save_many`, `attempts`, `note_late_result`."""

    @law("save", "all in one transaction")
    def test_a_refused_completion_refuses_the_save(self) -> None:
        """D22, D27: row, records, attempts and the command's end are written together or not at all."""
        store = self.make_store()
        life = self.stored(store, "t", "start", "mark_starting")
        store.submit_command(self.ask())
        (claimed,) = self.claim(store)
        before = (self.all_of(store), store.command("c"))
        life.does("mark_running")
        with raises(StoreError):
            life.save(store, complete=Completion("c", "forged", "done"))
        assert (self.all_of(store), store.command("c")) == before
        row = life.save(store, complete=Completion("c", claimed.claim_token or "", "done", {"n": 1}), command_id="c")
        assert (store.get("t"), store.command("c").outcome) == (row, "done")
        assert store.command("c").answer == {"n": 1}

    @law("save", "all in one transaction")
    def test_the_effect_of_a_command_is_recorded_once(self) -> None:
        """D27: a second record for the same command is refused, of this task or another."""
        store = self.make_store()
        self.stored(store).does("start").save(store, command_id="c")
        other = self.stored(store, "u")
        before = self.all_of(store, "u")
        with raises(StoreCorruption):
            other.does("start").save(store, command_id="c")
        assert self.all_of(store, "u") == before

    @law("save", "the same save again is a success that changes nothing")
    def test_a_save_sent_again_changes_nothing(self) -> None:
        """D22: after a lost answer the same save succeeds, also out of band, also when others wrote meanwhile."""
        store = self.make_store()
        life = self.stored(store)
        first = life.does("start").request()
        row = send(store, first)
        before = self.all_of(store)
        assert send(store, first) == row
        assert self.all_of(store) == before
        life._follow(row)
        life.does("stop").save(store)
        moved = life.does("retry").request()
        answer = send(store, moved)
        before = self.all_of(store)
        assert send(store, moved) == answer
        assert send(store, first).status_version == 2
        assert self.all_of(store) == before

    @law("save", "another version is a ConcurrencyConflict, another epoch is Fenced")
    def test_who_wrote_second_is_refused(self) -> None:
        """D22, D24: a stale version conflicts and names both; a stale epoch fences; neither changes anything."""
        store = self.make_store()
        life = self.stored(store)
        twin = life.copy_of(store.get("t"))
        life.does("start").save(store)
        before = self.all_of(store)
        with raises(ConcurrencyConflict) as caught:
            twin.does("start", reason="mine").save(store)
        assert (caught[0].__dict__["expected"], caught[0].__dict__["actual"]) == (1, 2)
        life.does("mark_starting")
        life.machine.touch(epoch=store.get("t").epoch + 5)
        with raises(Fenced):
            life.save(store)
        with raises(UnknownTask):
            self.life("nobody").does("start").save(store)
        assert self.all_of(store) == before

    @law("save", "another version is a ConcurrencyConflict, another epoch is Fenced")
    def test_of_two_at_once_one_wins(self) -> None:
        """P-109: two threads save the same next version; exactly one is told that it did."""
        store = self.make_store()
        life = self.stored(store)
        answers: list[str] = []
        ready = threading.Barrier(2)

        def write(reason: str) -> None:
            twin = life.copy_of(store.get("t")).does("start", reason=reason)
            ready.wait(10)
            try:
                twin.save(store)
                answers.append("saved")
            except TaskError as error:
                answers.append(type(error).__name__)

        threads = [threading.Thread(target=write, args=(reason,), daemon=True) for reason in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert sorted(answers) == ["ConcurrencyConflict", "saved"]
        assert len(store.history("t")) == 2

    @law("save", "records are exactly the versions in between")
    def test_records_lead_to_the_row(self) -> None:
        """D22: no gap, no other task's record, no forged edge, no row that says more than its last record."""
        store = self.make_store()
        life = self.stored(store)
        good = life.does(*RUN).request()
        before = self.all_of(store)
        last = good.transitions[-1]

        def ends_with(record: Transition) -> SaveRequest:
            return attrs.evolve(good, transitions=(*good.transitions[:-1], record))

        spoilt = [
            attrs.evolve(good, transitions=good.transitions[1:]),
            attrs.evolve(good, transitions=good.transitions[:-1]),
            attrs.evolve(good, transitions=(*good.transitions[:-1], attrs.evolve(last, task_id="u"))),
            attrs.evolve(good, transitions=(*good.transitions[:-1], attrs.evolve(last, attempt=5))),
            attrs.evolve(good, transitions=(*good.transitions[:-1], attrs.evolve(last, actor=""))),
            attrs.evolve(
                good, transitions=(*good.transitions[:-1], attrs.evolve(last, at=last.at - timedelta(days=1)))
            ),
            attrs.evolve(good, snapshot=attrs.evolve(good.snapshot, generation=2)),
            attrs.evolve(good, snapshot=attrs.evolve(good.snapshot, attempt=7)),
        ]
        for request in spoilt:
            with raises(StoreCorruption):
                send(store, request)
            assert self.all_of(store) == before
        with raises(ConfigurationError):
            send(store, attrs.evolve(good, transitions=()))
        send(store, good)
        assert [one.version for one in store.history("t")] == [1, 2, 3, 4]

    @law("save", "an out-of-band move draws a new epoch and leaves a `fenced` command for another owner")
    def test_who_moves_out_of_band_fences_the_owner(self) -> None:
        """D24, D26: the epoch is new store-wide; another owner's task leaves a command, one's own does not."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN)
        old = store.get("t").epoch
        highest = self.life("u").create(store).epoch
        force = {"to": "failed", "actor": "ann", "reason": "seen"}
        row = life.does("force_transition", **force).save(store, by=OTHER)
        assert row.epoch > highest > old
        assert store.get("t").epoch == store.history("t")[-1].epoch == row.epoch
        (fenced,) = self.claim(store)
        assert (fenced.verb, fenced.owner, fenced.target_epoch, fenced.task_id) == ("fenced", OWNER, old, "t")
        own = self.stored(store, "own", "start", "stop")
        assert own.does("retry").save(store).epoch > row.epoch
        assert self.claim(store) == []

    @law("save_many", "one that fails does not harm the others")
    def test_one_bad_save_of_many_harms_no_other(self) -> None:
        """D23: the results stand in the order of the requests, an error in the place of the one that failed."""
        store = self.make_store()
        if not hasattr(store, "save_many"):
            return
        requests = [self.stored(store, name).does("start").request() for name in ("a", "b", "c")]
        requests[1] = attrs.evolve(requests[1], expect_version=9)
        fresh = self.life("d").machine
        results = store.save_many([*requests, CreateRequest(fresh.snapshot, fresh.transitions)])
        assert [isinstance(one, TaskError) for one in results] == [False, True, False, False]
        assert [len(store.history(name)) for name in ("a", "b", "c", "d")] == [2, 1, 2, 1]

    @law("attempts", "one record per attempt started")
    def test_each_attempt_is_one_record(self) -> None:
        """D5, P-097: opened once, closed once, never rewritten; generations apart."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN, max_attempts=2)
        assert [one.ended_at for one in store.attempts("t")] == [None]
        life.does("mark_retry_wait").save(store)
        life.does("mark_starting", "mark_running", "mark_succeeded").save(store)
        assert [(one.attempt, one.disposition) for one in store.attempts("t")] == [(1, "failed"), (2, "succeeded")]
        life.does("reset", actor="ann", reason="anew").save(store)
        life.does(*RUN).save(store)
        assert [one.generation for one in store.attempts("t")] == [1, 1, 2]
        assert [one.attempt for one in store.attempts("t", generation=2)] == [1]
        first = store.attempts("t")[0]
        before = self.all_of(store)
        request = life.does("mark_failed").request()
        for forged in (attrs.evolve(first, disposition="succeeded"), AttemptRecord("u", 1, 1, 1, first.started_at)):
            with raises(StoreCorruption):
                send(store, attrs.evolve(request, attempts=(forged,)))
            assert self.all_of(store) == before

    @law("note_late_result", "no status, version or record changes")
    def test_a_late_result_is_only_noted(self) -> None:
        """D5, D11: only on a closed attempt, without touching the row; the first note stays."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN)
        assert not store.note_late_result("t", generation=1, attempt=1, note="late")
        life.does("mark_failed").save(store)
        row, history = store.get("t"), store.history("t")
        assert store.note_late_result("t", generation=1, attempt=1, note="late")
        assert store.note_late_result("t", generation=1, attempt=1, note="late")
        assert not store.note_late_result("t", generation=1, attempt=1, note="another")
        assert not store.note_late_result("t", generation=1, attempt=2, note="late")
        assert [one.late_result for one in store.attempts("t")] == ["late"]
        assert (store.get("t"), store.history("t")) == (row, history)
