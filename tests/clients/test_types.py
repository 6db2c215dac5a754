"""What the TypeScript client's types accept and refuse, and how its calls end."""

from __future__ import annotations

import pytest

from tests.clients import workshop
from tests.grpcweb.node import node, run

pytestmark = pytest.mark.system


def test_programs_compile_as_promised() -> None:
    built = workshop.typescript() / "programs"
    programs = [each.relative_to(workshop.PROGRAMS) for each in workshop.PROGRAMS.rglob("*.ts")]
    assert len(programs) > 5
    assert [each for each in programs if not (built / each).with_suffix(".js").exists()] == []


def test_calls_end_where_nothing_answers() -> None:
    run(node(), "--test", str(workshop.typescript() / "test" / "calls.js"))
