"""docs/security.md answers every point of the standard that it names, and its tests exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security.md"

# How many points of levels 1 and 2 each section of OWASP ASVS 5.0.0 has. In a section they come first.
SECTIONS = {
    "V1": (2, 9, 11, 3, 2), "V2": (3, 3, 4, 1), "V3": (0, 2, 4, 6, 5, 0, 2), "V4": (3, 1, 2, 4),
    "V5": (1, 3, 2, 3), "V6": (3, 12, 4, 4, 5, 3, 0, 4), "V7": (3, 4, 2, 5, 2, 2), "V8": (2, 3, 1, 1),
    "V9": (3, 4), "V10": (2, 2, 4, 11, 5, 2, 3), "V11": (2, 3, 3, 4, 1, 1), "V12": (3, 2, 4),
    "V13": (1, 5, 2, 5), "V14": (2, 4, 3), "V15": (3, 3, 7), "V16": (1, 5, 4, 3, 3), "V17": (1, 4, 2),
}  # fmt: skip
STATES = {"held", "part", "no", "none", "proxy", "operator"}


def rows() -> list[list[str]]:
    """The cells of each row of the standard's tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| V")
    ]


def test_every_point_is_answered_once() -> None:
    points = [
        f"{chapter}.{section}.{point}"
        for chapter, counts in SECTIONS.items()
        for section, count in enumerate(counts, 1)
        for point in range(1, count + 1)
    ]
    assert len(points) == 253
    answered = [point for row in rows() for point in row[0].split(", ")]
    assert sorted(answered) == sorted(points)


def test_every_answer_says_how() -> None:
    for points, subject, state, how in rows():
        assert subject, points
        assert state in STATES, points
        assert how.strip(" |") or state == "none" or "secret questions" in subject, points


def test_the_tests_that_are_named_exist() -> None:
    named = set(re.findall(r"`((?:tests|app)/[a-z_/0-9]+(?:\.py)?)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 25
    assert not {path for path in named if not (ROOT / path).exists()}
