"""The types of both clients are those of the document as it is."""

from __future__ import annotations

import pytest

from scripts import clients
from tests.clients import workshop

SCHEMA = (clients.TYPESCRIPT / clients.SCHEMA).read_text()
TYPES = (clients.PYTHON / clients.TYPES).read_text()


@pytest.mark.parametrize("made", [SCHEMA, TYPES], ids=["typescript", "python"])
def test_generated_types_name_current_document(made: str) -> None:
    assert clients.made_from(clients.document()) in made.splitlines()[0], "run `make clients`"


@pytest.mark.slow
@pytest.mark.system
def test_typescript_types_equal_generator_output() -> None:
    assert clients.typescript(clients.document(), workshop.tools()) == SCHEMA


def test_python_types_equal_generator_output() -> None:
    workshop.python()
    assert clients.python(clients.document()) == TYPES


@pytest.mark.slow
def test_python_client_has_types() -> None:
    folder = clients.PYTHON
    programs = [str(each) for each in sorted((folder / "tests").glob("*.py"))]
    workshop.run(
        workshop.python(), "-m", "mypy", *workshop.MYPY, "transfer_gateway_client", *programs, cwd=folder
    )
