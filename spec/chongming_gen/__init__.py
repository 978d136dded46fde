"""The generator: names, signatures and pages that follow from the spec.

What is generated is checked in, so that a reader finds it and a reviewer sees what a changed row changes. A test
and `make gen-check` compare it as whole text; `make gen` writes it. The spec is the only input: the same spec gives
the same text on every machine.
"""

from __future__ import annotations

from pathlib import Path

from chongming_gen import schema
from chongming_gen.verb_methods import module_text
from chongming_spec.decide import SPEC
from chongming_spec.render import pages

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "make gen"
REFERENCE = "docs/reference"
VERBS = "src/chongming_task/core/_generated_verbs.py"


def generated() -> dict[str, str]:
    """Every generated file: its path below the project's root, and its text."""
    texts = {f"{REFERENCE}/{name}": text for name, text in pages().items()}
    return {**texts, VERBS: module_text(SPEC), schema.PATH: schema.text()}
