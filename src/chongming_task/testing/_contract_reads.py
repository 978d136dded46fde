"""The store contract for what reads rows and histories, and for imports (D22, D29)."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import attrs

from chongming_spec.errors import ConfigurationError, StoreCorruption, StoreError, TaskExists
from chongming_spec.records import move_problem
from chongming_spec.snapshot import Transition
from chongming_spec.stores import TaskQuery
from chongming_task.testing._contract import OTHER, RUN, ContractBase, law, raises


class ReadContract(ContractBase):
    """`query`, `counts`, `history`, `feed`, `append`."""

    @law("query", "good rows are returned whatever bad ones there are")
    def test_a_bad_row_hides_no_good_one(self) -> None:
        """D29: the page holds the good rows and names the bad one."""
        store = self.make_store()
        for task_id in ("a", "b", "c"):
            self.stored(store, task_id)
        spoilt = self.spoil(store, "b")
        page = store.query()
        assert [row.task_id for row in page] == (["a", "c"] if spoilt else ["a", "b", "c"])
        assert [bad.task_id for bad in page.corrupt] == (["b"] if spoilt else [])

    @law("query", "pages are complete and disjoint")
    def test_pages_are_complete_and_disjoint(self) -> None:
        """Keyset paging, in both directions, while tasks of the same instant and newer ones arrive."""
        store = self.make_store()
        names = [f"t{n}" for n in range(7)]
        for n, name in enumerate(names):
            self.stored(store, name, *(("start",) if n % 2 else ()))
            if n % 3 == 0:
                self.clock.advance(1)
        for newest in (False, True):
            found: list[str] = []
            wanted = TaskQuery(limit=2, newest=newest)
            while True:
                page = store.query(wanted)
                assert len(page) <= 2
                found.extend(row.task_id for row in page)
                if page.cursor is None:
                    break
                wanted = attrs.evolve(wanted, after=page.cursor)
            assert found == (names[::-1] if newest else names)
        with raises(ConfigurationError):
            store.query(TaskQuery(limit=0))
        with raises(ConfigurationError):
            store.query(TaskQuery(after="no cursor"))

    @law("query", "pages are complete and disjoint")
    def test_all_conditions_hold_together(self) -> None:
        """State, tag, name, bucket, run and owner, alone and together; the name is a prefix, not a pattern."""
        store = self.make_store()
        self.stored(store, "a", "start", tags={"x"}, bucket=1, pipeline_run_id="r")
        self.stored(store, "b", tags={"x", "y"}, owner=OTHER, bucket=2)
        self.stored(store, "a_%", "start", tags={"y"}, pipeline_run_id="r")

        def ids(**conditions: Any) -> list[str]:
            return [row.task_id for row in store.query(TaskQuery(**conditions))]

        started = frozenset({store.get("a").status})
        assert ids(statuses=started) == ["a", "a_%"]
        assert ids(statuses=frozenset()) == []
        assert ids(tag="x") == ["a", "b"]
        assert (ids(name_prefix="job-a_"), ids(name_prefix="job-%")) == (["a_%"], [])
        assert ids(buckets=frozenset({2, 9})) == ["b"]
        assert ids(pipeline_run_id="r", tag="y") == ["a_%"]
        assert ids(owner=OTHER, statuses=started) == []

    @law("counts", "equals the number of rows per status")
    def test_counts_are_the_rows(self) -> None:
        """Through creation, moves, refusals and prune; states without a task are left out."""
        store = self.make_store()
        for n in range(4):
            life = self.stored(store, f"t{n}", *RUN[: 1 + n % 3])
            if n == 2:
                life.does("mark_failed").save(store)
        with raises(TaskExists):
            self.life("t0").create(store)
        rows = [row.status for row in store.query()]
        assert store.counts() == {status: rows.count(status) for status in set(rows)}
        store.prune(keep_terminal=0)
        rows = [row.status for row in store.query()]
        assert store.counts() == {status: rows.count(status) for status in set(rows)}

    def _imported(self, store: Any) -> list[Transition]:
        records = list(self.life().does(*RUN).machine.transitions)
        assert all(move_problem(one) is None for one in records)
        for one in records:
            store.append(one)
        return records

    @law("append", "an equal record changes nothing")
    def test_an_import_repeats_harmlessly(self) -> None:
        """D22: a history is imported record by record; again changes nothing; and a row can be put on top of it."""
        store = self.make_store()
        records = self._imported(store)
        for one in records:
            store.append(one)
        assert store.history("t") == records
        assert len(store.feed()) == 4
        assert (store.get("t"), store.counts()) == (None, {})

    @law("append", "a different one is StoreCorruption")
    def test_an_import_that_differs_is_refused(self) -> None:
        """D22: another record of a known version, a gap, a move no table allows; a stored task only grows by save."""
        store = self.make_store()
        records = self._imported(store)
        bad = [
            attrs.evolve(records[1], reason="forged"),
            attrs.evolve(records[3], version=6),
            attrs.evolve(records[3], version=5),
        ]
        for one in bad:
            with raises(StoreCorruption):
                store.append(one)
        assert store.history("t") == records
        stored = self.stored(store, "u")
        with raises(StoreError):
            store.append(stored.does("start").records()[0])
        assert len(store.history("u")) == 1

    @law("history", "an earlier read is a prefix of a later one")
    def test_history_only_grows(self) -> None:
        """P-105: through reset and force; versions have no gap; a part can be asked for."""
        store = self.make_store()
        life = self.stored(store)
        reads = [store.history("t")]
        for verbs in (RUN, ("mark_failed",)):
            life.does(*verbs).save(store)
            reads.append(store.history("t"))
        life.does("reset", actor="ann", reason="anew").save(store)
        reads.append(store.history("t"))
        for earlier, later in pairwise(reads):
            assert later[: len(earlier)] == earlier
        assert [one.version for one in reads[-1]] == list(range(1, 7))
        assert [one.version for one in store.history("t", since_version=4)] == [5, 6]
        assert [one.version for one in store.history("t", generation=2)] == [6]
        assert store.history("nobody") == []

    @law("feed", "store-wide order agrees with each task's order")
    def test_the_feed_keeps_each_tasks_order(self) -> None:
        """All records, places strictly growing, and of each task exactly its history."""
        store = self.make_store()
        lives = [self.stored(store, name) for name in ("a", "b")]
        for verb in RUN:
            for life in lives:
                life.does(verb).save(store)
        feed = store.feed()
        assert [one.seq for one in feed] == sorted({one.seq for one in feed})
        for name in ("a", "b"):
            assert [one.transition for one in feed if one.transition.task_id == name] == store.history(name)

    @law("feed", "nothing is skipped once read past")
    def test_a_reader_of_the_feed_misses_nothing(self) -> None:
        """One thread reads on from where it was while others write; in the end it has every record."""
        store = self.make_store()

        def write(name: str) -> None:
            for n in range(10):
                self.stored(store, f"{name}{n}", "start")

        threads = [threading.Thread(target=write, args=(name,), daemon=True) for name in "abc"]
        for thread in threads:
            thread.start()
        seen: list[Transition] = []
        after, is_last = 0, False
        while True:
            page = store.feed(after, 4)
            assert len(page) <= 4
            seen.extend(one.transition for one in page)
            after = page[-1].seq if page else after
            if is_last and not page:
                break
            is_last = not any(thread.is_alive() for thread in threads)
        assert len(seen) == 60
        assert seen == [one.transition for one in store.feed()]
