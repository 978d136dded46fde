"""`python -m models` searches every configuration and compares it with the manifest; `--pin` writes the manifest."""

from __future__ import annotations

import json
import sys

from models.lifecycle import CONFIGURATIONS, MANIFEST, counts, explore, pinned


def main(arguments: list[str]) -> int:
    """0 if nothing is broken and the counts are those pinned (or were just pinned), 1 otherwise."""
    spaces = {configuration.name: explore(configuration) for configuration in CONFIGURATIONS}
    for name, space in spaces.items():
        print(f"{name:<16} {space.states:>6} states {space.steps:>7} steps, depth {space.depth}")
        for statement, trace in space.broken:
            print(f"  broken: {statement}\n    " + "\n    ".join(trace))
    found = {name: counts(space) for name, space in spaces.items()}
    broken = any(space.broken for space in spaces.values())
    if "--pin" in arguments and not broken:
        MANIFEST.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return 0
    differs = not MANIFEST.exists() or found != pinned()
    if differs:
        print("the counts are not those of manifest.json; if the change is meant: python -m models --pin")
    return 1 if broken or differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
