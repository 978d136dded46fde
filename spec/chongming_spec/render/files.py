"""Generated files on disk: written together, and compared as whole text.

Each generated file says so in its first line. That line is what makes it ours: a file without it is never
overwritten or removed, and one with it that nothing generates any more is a leftover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

MARK = "do not edit"


def is_generated(path: Path) -> bool:
    """Whether the first line of a file says that it is generated."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return MARK in file.readline()


def differences(root: Path, texts: Mapping[str, str]) -> list[str]:
    """One line per file below `root` that is not exactly as in `texts`: missing, different, or a leftover."""
    found = []
    for name, text in texts.items():
        path = root / name
        if not path.is_file():
            found.append(f"{name}: missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name}: differs")
    return [*found, *(f"{path.relative_to(root).as_posix()}: no longer generated" for path in _leftovers(root, texts))]


def write(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Write what differs, remove leftovers, and return what `differences` found before.

    Raises FileExistsError, with nothing written, where a file stands that nobody generated.
    """
    for name in texts:
        path = root / name
        if path.exists() and not is_generated(path):
            raise FileExistsError(f"{path} was not generated and stays as it is; choose another folder or move it away")
    found = differences(root, texts)
    for name, text in texts.items():
        path = root / name
        if not path.is_file() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    for path in list(_leftovers(root, texts)):
        path.unlink()
    return found


def _leftovers(root: Path, texts: Mapping[str, str]) -> Iterator[Path]:
    """Generated files beside the ones in `texts`, with the same kind of name."""
    ours = {root / name for name in texts}
    for folder, suffix in sorted({(path.parent, path.suffix) for path in ours}):
        if folder.is_dir():
            yield from (p for p in sorted(folder.glob(f"*{suffix}")) if p not in ours and is_generated(p))
