"""What the README and the guide show runs, and what they point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.doc.programs import GUIDE, ROOT, blocks, run

PAGES = (ROOT / "README.md", *sorted(GUIDE.glob("*.md")))
HAND_WRITTEN = (*PAGES, ROOT / "docs" / "README.md", *sorted((ROOT / "docs" / "internals").glob("*.md")))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def slug(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE) if file.is_file() else []
        if not file.exists() or (anchor and anchor not in map(slug, headings)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    """The Python blocks of a page, one after the other, are a program that ends well."""
    code = "\n".join(blocks(page, "python"))
    assert code
    answer = run("-c", code, cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link of a page names a file or heading that exists."""
    assert broken_links(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    """The check itself can fail: a missing file and a missing heading are both found."""
    page = tmp_path / "page.md"
    page.write_text("# Here\n[a](gone.md) [b](#there) [c](#here) [d](page.md#here)\n", encoding="utf-8")
    assert broken_links(page) == ["gone.md", "#there"]


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=named)
def test_make_targets_and_files_exist(page: Path) -> None:
    """Each `make …` a page names is a target, and each file of the spec it names is there."""
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)
    assert [name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)] == []
    files = re.findall(r"`((?:spec|src|models|tests|docs)/[\w/.-]+)`", text)
    assert [name for name in files if not (ROOT / name).exists()] == []
