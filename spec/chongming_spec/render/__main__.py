"""`python -m chongming_spec.render [--check] DIR`: write the pages into DIR, or compare them.

`--check` writes nothing and exits with 1 when a page in DIR is not what the spec says; a page that cannot be written
because something else has its name exits with 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from chongming_spec.render import pages
from chongming_spec.render.files import differences, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m chongming_spec.render", description="The spec as Markdown pages.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a page differs")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of the pages")
    chosen = parser.parse_args(arguments)
    if chosen.check:
        found = differences(chosen.folder, pages())
        if found:
            print("\n".join((*found, f"run: python -m chongming_spec.render {chosen.folder}")), file=sys.stderr)
        return 1 if found else 0
    try:
        found = write(chosen.folder, pages())
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(found) or "nothing to do")
    return 0


if __name__ == "__main__":
    sys.exit(main())
