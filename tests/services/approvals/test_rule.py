"""What TWO_PERSONS can name, and which changes only stop something."""

from __future__ import annotations

from app.domain.proposals.two_persons import ADMINISTERED
from app.services.network.sections import SECTIONS
from config import GUARDABLE


def test_every_section_can_be_named() -> None:
    assert set(GUARDABLE) == {section.name for section in SECTIONS} | ADMINISTERED
