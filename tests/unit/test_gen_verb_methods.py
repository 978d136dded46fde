"""The generated verb methods: typed names in front of one generic entry."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import attrs
import pytest

from chongming_gen import verb_methods as gen
from chongming_spec import guards as g
from chongming_spec.algebra import Caller, Param, Rule
from chongming_spec.decide import SPEC
from chongming_spec.states import TaskStatus
from chongming_task.core._generated_verbs import GeneratedVerbs
from chongming_task.core.permission import Permission
from tests.unit.gen_toy import IDLE, LIGHT, LIT, TOY

TOY_METHOD = '''\
    def light(self, *, wick: float = 1.0, actor: str | None = None, reason: str | None = None) -> bool:
        """Light the lamp.

        queued -> starting. Already so in starting. Guards: attempts_exhausted.
        """
        return self._take("light", actor, reason, {"wick": wick})'''


class Recorder(GeneratedVerbs):
    """Keeps what it is handed."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []

    def _take(self, verb: str, actor: str | None, reason: str | None, values: dict[str, Any] | None) -> bool:
        self.taken.append((verb, actor, reason, values))
        return True

    def _permission(self, verb: str) -> Permission:
        return Permission(False, verb)


def test_the_method_of_a_toy_verb() -> None:
    """Signature, docstring and the one line that hands the values on."""
    assert gen.verb_method(TOY, LIGHT) == TOY_METHOD


def test_the_module_of_a_toy_spec_is_a_class_of_one_verb() -> None:
    """It parses, imports what its types need and no more, and has no permission for verbs that are not there."""
    text = gen.module_text(TOY)
    (class_,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    names = [node.name for node in class_.body if isinstance(node, ast.FunctionDef)]
    assert names == ["_take", "_permission", "light"]
    assert "do not edit" in text.splitlines()[0]
    assert "datetime" not in text


def test_a_verb_with_nothing_to_hand_on_hands_on_none() -> None:
    """Without other parameters the values are None, and an actor that the verb does not take is None."""
    bare = attrs.evolve(LIGHT, params=(), already=frozenset())
    text = gen.verb_method(attrs.evolve(TOY, verbs=(bare,)), bare)
    assert "def light(self) -> bool:" in text
    assert text.endswith('return self._take("light", None, None, None)')
    assert "Already" not in text


def test_demanded_parameters_have_no_default_and_a_target_comes_first() -> None:
    """D2: force_transition(to, *, actor, reason) cannot be called without any of them."""
    params = (Param("actor", "str", "", ""), Param("to", "TaskStatus", "", ""))
    assert gen.signature(params) == ["self", "to: TaskStatus", "*", "actor: str"]
    assert gen.signature(params[1:]) == ["self", "to: TaskStatus"]


def test_a_type_without_a_home_is_refused() -> None:
    """A row with a new type stops the generator instead of giving a module that cannot be imported."""
    odd = attrs.evolve(LIGHT, params=(Param("lamp", "Lamp", "", ""),))
    with pytest.raises(ValueError, match="type Lamp"):
        gen.module_text(attrs.evolve(TOY, verbs=(odd,)))


def test_the_summary_says_what_happens_where() -> None:
    """Same state, staying, the state asked for, and a move that is no edge each read as such."""
    rules = (
        Rule(IDLE, LIT, when=(g.DEPS_CLOSED,)),
        Rule(IDLE, when=(g.DEPS_OPEN,)),
        Rule(LIT, LIT, out_of_band=True),
        Rule(TaskStatus.FAILED),
        Rule(TaskStatus.LOST, asked_target=True, out_of_band=True),
        Rule(TaskStatus.STOPPED, TaskStatus.PENDING),
    )
    verb = attrs.evolve(LIGHT, rules=rules, already=frozenset())
    assert gen.summary(attrs.evolve(TOY, verbs=(verb,)), verb) == (
        "queued -> starting or as it was; starting, failed -> the same state; lost -> the state asked for. "
        "Guards: attempts_exhausted."
    )


def test_a_verb_without_rules_has_an_empty_summary() -> None:
    """A verb that is only ever already so says just that."""
    verb = attrs.evolve(LIGHT, rules=())
    assert gen.summary(attrs.evolve(TOY, verbs=(verb,)), verb) == "Already so in starting."


def test_every_verb_of_persons_and_machine_is_a_method() -> None:
    """D43: all but `wait`, with the parameters of its row; the verbs of the world have none."""
    for verb in SPEC.verbs:
        method = getattr(GeneratedVerbs, verb.name, None)
        if verb.caller is Caller.WORLD or verb.name == "wait":
            assert method is None
            continue
        assert method is not None
        parameters = dict(inspect.signature(method).parameters)
        del parameters["self"]
        assert set(parameters) == {param.name for param in verb.params}
        for param in verb.params:
            kind = parameters[param.name].kind
            assert (kind is inspect.Parameter.KEYWORD_ONLY) is (param.name != "to")
            assert (parameters[param.name].default is inspect.Parameter.empty) is (param.default == "")


def test_methods_hand_their_values_to_the_one_entry() -> None:
    """Actor and reason by themselves, the rest by name, defaults included."""
    machine = Recorder()
    machine.mark_queued()
    machine.mark_starting(executor="thread", actor="me")
    machine.force_transition("failed", actor="me", reason="seen")
    machine.stop(graceful=False)
    assert machine.taken == [
        ("mark_queued", None, None, None),
        ("mark_starting", "me", None, {"executor": "thread"}),
        ("force_transition", "me", "seen", {"to": "failed"}),
        ("stop", None, None, {"graceful": False, "timeout": None}),
    ]


def test_permissions_ask_about_their_own_verb() -> None:
    """D43: `can_stop` and its kin give the answer for the verb they name."""
    machine = Recorder()
    for verb in gen.PERMISSIONS:
        permission = getattr(machine, f"can_{verb}")
        assert not permission
        assert permission.reason == verb


@pytest.mark.skipif(find_spec("ruff") is None, reason="the formatter is not installed; `make check` runs it")
@pytest.mark.parametrize("spec", [TOY, SPEC], ids=["toy", "ours"])
def test_the_text_is_what_the_formatter_makes_of_it(spec: Any) -> None:
    """The layout needs no formatter, because it is the formatter's."""
    text = gen.module_text(spec)
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=120", "-"]
    answer = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    assert answer.stdout.decode() == text
