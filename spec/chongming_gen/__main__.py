"""`python -m chongming_gen [--check]`: write every generated file of the project, or compare them.

`--check` writes nothing and exits with 1 when a file is not what the spec says, naming the command that makes it so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from chongming_gen import COMMAND, ROOT, generated
from chongming_spec.render.files import differences, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m chongming_gen", description="Generated files of the project.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="another folder to write to or compare with")
    chosen = parser.parse_args(arguments)
    if chosen.check:
        found = differences(chosen.root, generated())
        if found:
            print("\n".join((*found, f"run: {COMMAND}")), file=sys.stderr)
        return 1 if found else 0
    print("\n".join(write(chosen.root, generated())) or "nothing to do")
    return 0


if __name__ == "__main__":
    sys.exit(main())
