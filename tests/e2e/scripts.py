"""Running a script in an interpreter of its own: the only place where exits, flags and signals can be seen."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 60.0


def environment() -> dict[str, str]:
    """Ours, with the library on the path, contracts on, and output as it comes."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("spec", "src"))
    return {**os.environ, "PYTHONPATH": paths, "CHONGMING_CONTRACTS": "1", "PYTHONUNBUFFERED": "1"}


def script(tmp_path: Path, text: str) -> Path:
    """The text as a file."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def run(tmp_path: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with warnings as errors; TimeoutExpired if it hangs."""
    return subprocess.run(
        [sys.executable, "-W", "error", *flags, str(script(tmp_path, text))],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
