"""The store contract for what is kept beside the rows: leases, commands, pipeline runs, lines, upkeep (D24-D30)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs

from chongming_spec.errors import ConcurrencyConflict, ConfigurationError, StoreError
from chongming_spec.snapshot import Progress
from chongming_spec.stores import LOG_LINES_KEPT, CommandState, Completion, OwnerRecord, RunRecord
from chongming_task.testing._contract import OTHER, OWNER, RUN, ContractBase, Life, law, raises

ADOPT = {"actor": "ann", "reason": "its owner is gone", "owner": OTHER}


class LeaseContract(ContractBase):
    """`touch`, `renew`, `owners`, `expire_lease`, `adopt`."""

    @law("touch", "never a status, version, owner or epoch")
    def test_touch_keeps_to_progress_and_heartbeat(self) -> None:
        """D24: the owner of the present epoch, while the task is not over; anybody else is told that it is fenced."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN)
        row = store.get("t")
        beat = self.clock.now() + timedelta(seconds=1)
        assert store.touch("t", owner=OWNER, epoch=row.epoch, progress=Progress(done=3), heartbeat_at=beat)
        assert store.touch("t", owner=OWNER, epoch=row.epoch)
        touched = attrs.evolve(row, progress=Progress(done=3), last_heartbeat_at=beat)
        assert store.get("t") == touched
        for owner, epoch in ((OTHER, row.epoch), (OWNER, row.epoch + 1), (OWNER, row.epoch - 1)):
            assert not store.touch("t", owner=owner, epoch=epoch, progress=Progress(done=9))
        assert not store.touch("nobody", owner=OWNER, epoch=row.epoch)
        assert (store.get("t"), len(store.history("t"))) == (touched, 4)
        over = life.does("mark_failed").save(store)
        assert not store.touch("t", owner=OWNER, epoch=over.epoch, progress=Progress(done=9))
        assert store.get("t") == over

    @law("renew", "late renewal is allowed")
    @law("owners")
    def test_a_lease_can_be_renewed_late(self) -> None:
        """D24, D25: the lease belongs to the owner, is read through it by every task, and may be taken up again."""
        store = self.make_store()
        self.stored(store, "t", *RUN)
        assert (store.get("t").lease_owner, store.get("t").lease_until, store.owners()) == (None, None, [])
        over = self.hold(store, seconds=-100)
        assert (store.get("t").lease_owner, store.get("t").lease_until) == (OWNER, over)
        until = self.hold(store)
        assert (store.get("t").lease_owner, store.get("t").lease_until) == (OWNER, until)
        assert store.owners() == [OwnerRecord(OWNER, host="h", pid=1, lease_until=until)]
        self.stored(store, "over", "cancel")
        assert store.get("over").lease_owner is None

    def _lost(self, store: Any) -> Life:
        life = self.stored(store, "t", *RUN)
        self.hold(store)
        return life

    @law("expire_lease", "a lease that was renewed in between wins")
    def test_who_renewed_in_time_is_not_lost(self) -> None:
        """D25: lost only if version, owner, epoch and lease are those read, and the store finds the lease over."""
        store = self.make_store()
        life = self._lost(store)
        request = life.does("mark_lost", reason="no sign of life").request(by=OTHER)
        read = self.read(store)
        before = self.all_of(store)
        assert store.expire_lease(request, read) is None
        self.clock.advance(31)
        wrong: tuple[dict[str, Any], ...] = (
            {"version": 1}, {"owner": OTHER}, {"epoch": read.epoch + 1}, {"lease_until": None}
        )  # fmt: skip
        for change in wrong:
            assert store.expire_lease(request, read._replace(**change)) is None
        assert self.all_of(store) == before
        self.hold(store)
        self.clock.advance(31)
        assert store.expire_lease(request, read) is None
        assert store.get("t").status_version == 4
        row = store.expire_lease(request, self.read(store))
        assert (row.status, row.status_version) == (request.snapshot.status, 5)
        assert store.history("t")[-1].owner == OTHER

    @law("adopt", "the old owner finds a `fenced` command")
    def test_an_adopted_task_has_a_new_owner_and_epoch(self) -> None:
        """D26, D28: by the same condition; the old owner, should it live, is told and can write no more."""
        store = self.make_store()
        life = self.stored(store, "t", "start")
        self.hold(store)
        read, old = self.read(store), store.get("t")
        twin = life.copy_of(old)
        life.machine.watch(lease_over=True)
        request = life.does("adopt", **ADOPT).request(by=OTHER)
        assert store.adopt(request, read) is None
        self.clock.advance(31)
        assert store.adopt(request, read._replace(version=7)) is None
        row = store.adopt(request, read)
        assert (row.owner, row.status) == (OTHER, old.status)
        assert row.epoch > old.epoch
        (fenced,) = self.claim(store)
        assert (fenced.verb, fenced.target_epoch) == ("fenced", old.epoch)
        assert self.claim(store, OTHER) == []
        with raises(ConcurrencyConflict):
            twin.does("mark_starting").save(store)
        assert not store.touch("t", owner=OWNER, epoch=old.epoch)

    @law("adopt")
    def test_a_stalled_owner_keeps_what_it_carries(self) -> None:
        """D28: `stalled_ok` does without the lease being over, for tasks that hold no carrier only."""
        store = self.make_store()
        for task_id, verbs, expected in (("queued", ("start",), True), ("running", RUN, False)):
            life = self.stored(store, task_id, *verbs)
            self.hold(store)
            life.machine.watch(lease_over=True)
            force = {"to": "failed", "actor": "ann", "reason": "seen"}
            request = life.does("force_transition", **force).request(by=OTHER)
            read = self.read(store, task_id)
            assert store.adopt(request, read) is None
            assert (store.adopt(request, read, stalled_ok=True) is not None) is expected


class CommandContract(ContractBase):
    """The commands (D27)."""

    @law("submit_command", "the same command_id again changes nothing", "seq grows per task")
    def test_a_command_is_left_once(self) -> None:
        """The same id returns the first as it is now; places grow per task; claim fields are the store's."""
        store = self.make_store()
        first = store.submit_command(self.ask("a", ask={"x": [1]}, claim_token="forged", state=CommandState.DONE))
        assert (first.state, first.claim_token) == (CommandState.NEW, None)
        assert store.submit_command(self.ask("a", "u")) == first
        places = [store.submit_command(self.ask(name)).seq for name in ("b", "c")]
        assert first.seq < places[0] < places[1]
        assert store.command("a") == first
        assert store.command("nobody") is None
        store.command("a").ask["x"].append(2)
        assert store.command("a").ask == {"x": [1]}

    @law("claim_commands", "of one task only the lowest unfinished seq")
    def test_commands_of_a_task_go_one_after_the_other(self) -> None:
        """D27: the second waits until the first is done, other tasks do not; an expired one holds nobody up."""
        store = self.make_store()
        for name, task_id in (("a", "t"), ("b", "t"), ("c", "u")):
            store.submit_command(self.ask(name, task_id))
        claimed = {one.command_id: one for one in self.claim(store)}
        assert sorted(claimed) == ["a", "c"]
        assert self.claim(store) == []
        assert store.complete_command(Completion("a", claimed["a"].claim_token or "", "done"))
        assert [one.command_id for one in self.claim(store)] == ["b"]
        store.submit_command(self.ask("d", "v", seconds=1))
        store.submit_command(self.ask("e", "v"))
        self.clock.advance(2)
        assert [one.command_id for one in self.claim(store)] == ["e"]

    @law("claim_commands", "of one task only the lowest unfinished seq")
    def test_a_dead_claimants_command_is_claimed_again(self) -> None:
        """P-112: after the claim's time another incarnation may take it, under a new token, and the count shows it."""
        store = self.make_store()
        store.submit_command(self.ask())
        (first,) = self.claim(store)
        assert (first.state, first.claims, first.claim_until) == (
            CommandState.CLAIMED, 1, self.clock.now() + timedelta(seconds=30)
        )  # fmt: skip
        self.clock.advance(31)
        (second,) = self.claim(store)
        assert (second.claims, second.claim_token == first.claim_token) == (2, False)
        assert not store.complete_command(Completion("c", first.claim_token or "", "done"))
        assert store.command("c") == second

    @law("claim_commands", "never another owner's")
    def test_commands_are_for_one_owner(self) -> None:
        """D27: another owner's are neither given nor in the way; the limit is kept; expired ones are not given."""
        store = self.make_store()
        store.submit_command(self.ask("a", owner=OTHER))
        store.submit_command(self.ask("b"))
        store.submit_command(self.ask("c", "u"))
        store.submit_command(self.ask("d", "v", seconds=0))
        assert [one.command_id for one in self.claim(store, limit=1)] == ["b"]
        assert [one.command_id for one in self.claim(store)] == ["c"]
        assert self.claim(store, "C#1") == []
        assert store.command("a").state is CommandState.NEW

    @law("complete_command", "done is final")
    def test_done_is_final(self) -> None:
        """D27: only the present token completes, once; afterwards nothing changes the command any more."""
        store = self.make_store()
        store.submit_command(self.ask())
        assert not store.complete_command(Completion("c", "", "done"))
        token = self.claim(store)[0].claim_token or ""
        assert not store.complete_command(Completion("c", "forged", "done"))
        assert store.complete_command(Completion("c", token, "applied", {"n": 1}))
        done = store.command("c")
        assert (done.state, done.outcome, done.answer) == (CommandState.DONE, "applied", {"n": 1})
        assert not store.complete_command(Completion("c", token, "again"))
        assert not store.release_command("c", token)
        self.clock.advance(100)
        assert (self.claim(store), store.settle_commands(owner=OTHER)) == ([], [])
        assert store.command("c") == done

    @law("release_command")
    def test_a_claimant_can_give_back(self) -> None:
        """D27: with the present token only; it can be claimed again at once."""
        store = self.make_store()
        store.submit_command(self.ask())
        token = self.claim(store)[0].claim_token or ""
        assert not store.release_command("c", "forged")
        assert not store.release_command("nobody", token)
        assert store.release_command("c", token)
        assert store.command("c").state is CommandState.NEW
        assert not store.release_command("c", token)
        assert [one.claims for one in self.claim(store)] == [2]

    @law("claim_commands")
    def test_what_cannot_be_delivered_is_settled(self) -> None:
        """D27: not_found, superseded, expired; not what somebody holds, nor what tells of an old epoch."""
        store = self.make_store()
        life = self.stored(store, "t", "start")
        epoch = store.get("t").epoch
        self.stored(store, "u")
        store.submit_command(self.ask("held", "u", seconds=1))
        self.claim(store)
        store.submit_command(self.ask("gone", "nobody"))
        store.submit_command(self.ask("old", target_epoch=epoch))
        store.submit_command(self.ask("late", seconds=1))
        store.submit_command(self.ask("good", target_epoch=None))
        life.does("force_transition", to="failed", actor="ann", reason="seen").save(store, by=OTHER)
        self.clock.advance(2)
        settled = {one.command_id: one.outcome for one in store.settle_commands(owner=OTHER)}
        assert settled == {"gone": "not_found", "old": "superseded", "late": "expired"}
        assert store.command("old").state is CommandState.DONE
        assert store.settle_commands(owner=OTHER) == []


class UpkeepContract(ContractBase):
    """`save_run`, `prune`, `add_lines`, `close`."""

    def _run(self, run_id: str, status: str = "running") -> RunRecord:
        now = self.clock.now()
        return RunRecord(run_id, "nightly", OWNER, now, now, structure={"nodes": ["a"]}, latch="pause", status=status)

    @law("save_run")
    @law("get_run")
    @law("runs")
    def test_a_run_follows_its_version(self) -> None:
        """D28, D36: put down at 0, followed version by version; who read another version is refused."""
        store = self.make_store()
        first = store.save_run(self._run("r"), expect_version=0)
        assert first == attrs.evolve(self._run("r"), version=1)
        second = store.save_run(self._run("r", "failed"), expect_version=1)
        assert (second.version, store.get_run("r")) == (2, second)
        for version in (0, 1, 3):
            with raises(ConcurrencyConflict):
                store.save_run(self._run("r"), expect_version=version)
        with raises(ConcurrencyConflict):
            store.save_run(self._run("q"), expect_version=1)
        self.clock.advance(1)
        store.save_run(self._run("a"), expect_version=0)
        assert [one.run_id for one in store.runs()] == ["r", "a"]
        assert store.get_run("r") == second
        assert store.get_run("nobody") is None

    @law("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
    @law("tombstone")
    def test_a_pruned_task_leaves_only_its_tombstone(self) -> None:
        """D30: nothing else of it can be read; its id can be used again, under an epoch that never was."""
        store = self.make_store()
        life = self.stored(store, "t", *RUN)
        life.does("mark_failed").save(store)
        store.submit_command(self.ask("done"))
        store.complete_command(Completion("done", self.claim(store)[0].claim_token or "", "done"))
        store.add_lines("t", [(self.clock.now(), 20, "line")])
        row = store.get("t")
        other = self.stored(store, "u", "start")
        assert store.prune(keep_terminal=0) == 1
        assert (store.get("t"), store.history("t"), store.attempts("t"), store.lines("t")) == (None, [], [], [])
        assert store.command("done") is None
        assert {one.transition.task_id for one in store.feed()} == {"u"}
        stone = store.tombstone("t")
        assert (stone.status, stone.epoch, stone.last_version) == (row.status, row.epoch, row.status_version)
        assert (stone.pruned_at, store.tombstone("u")) == (self.clock.now(), None)
        assert self.life("t").create(store).epoch > max(row.epoch, other.machine.snapshot.epoch)

    @law("prune", "tombstone first, then row, history, attempts and commands, in one transaction")
    def test_prune_spares_what_may_be_needed(self) -> None:
        """D30: not what is not over, is commanded, belongs to a run under way, or whose carrier may live on."""
        store = self.make_store()
        self.stored(store, "active", "start")
        self.stored(store, "asked", "cancel")
        store.submit_command(self.ask("c", "asked", seconds=9999))
        self.stored(store, "node", "cancel", pipeline_run_id="r")
        store.save_run(self._run("r"), expect_version=0)
        self.stored(store, "stray", *RUN).does("mark_lost").save(store)
        assert store.prune(keep_terminal=0) == 0
        store.complete_command(Completion("c", self.claim(store)[0].claim_token or "", "done"))
        store.save_run(self._run("r", "failed"), expect_version=1)
        assert store.prune(keep_terminal=0) == 2
        assert sorted(row.task_id for row in store.query()) == ["active", "stray"]

    @law("prune")
    def test_prune_keeps_the_newest(self) -> None:
        """D30: by the time of their end; a count below zero is refused."""
        store = self.make_store()
        for name in ("c", "a", "b"):
            self.clock.advance(1)
            self.stored(store, name, "cancel")
        assert store.prune(keep_terminal=5) == 0
        assert store.prune(keep_terminal=2) == 1
        assert sorted(row.task_id for row in store.query()) == ["a", "b"]
        with raises(ConfigurationError):
            store.prune(keep_terminal=-1)

    @law("add_lines", "lossy: the newest 200 per task are kept", "never part of an invariant")
    @law("lines")
    def test_lines_are_few_and_apart(self) -> None:
        """The newest 200 of each task, in order; the task itself does not change."""
        store = self.make_store()
        self.stored(store)
        before = self.all_of(store)
        lines = [(self.clock.now() + timedelta(seconds=n), n, f"line {n}") for n in range(LOG_LINES_KEPT + 50)]
        for part in (lines[:3], lines[3:120], [], lines[120:]):
            store.add_lines("t", part)
        store.add_lines("u", lines[:1])
        assert store.lines("t") == lines[-LOG_LINES_KEPT:]
        assert (store.lines("u"), store.lines("nobody")) == (lines[:1], [])
        assert self.all_of(store) == before

    @law("close", "calls afterwards raise StoreError")
    def test_a_closed_store_says_so(self) -> None:
        """Reads and writes are refused; closing again is harmless."""
        store = self.make_store()
        life = self.stored(store)
        request = life.does("start").request()
        store.close()
        store.close()
        calls: tuple[Any, ...] = (
            lambda: store.get("t"), lambda: store.counts(), lambda: store.query(), lambda: store.feed(),
            lambda: life.save(store), lambda: self.life("u").create(store), lambda: store.owners(),
            lambda: self.hold(store), lambda: self.claim(store), lambda: store.submit_command(self.ask()),
            lambda: store.prune(keep_terminal=0), lambda: store.append(request.transitions[0]),
            lambda: store.lines("t"), lambda: store.runs(), lambda: store.touch("t", owner=OWNER, epoch=1),
        )  # fmt: skip
        for call in calls:
            with raises(StoreError):
                call()
