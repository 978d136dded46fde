"""Running what the documentation shows: programs and code blocks, each in an interpreter of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
GUIDE = ROOT / "docs" / "guide"


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python on these arguments with our packages in reach, warnings as errors and the output as UTF-8."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("spec", "src"))
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
