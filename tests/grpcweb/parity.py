"""What the parity tests add to the HTTP tests that they run."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from tests.grpcweb.two_doors import TwoDoors

UNCARRIED = {
    "test_what_does_not_change_the_answer": "is_pegged=[fF0]",  # an explicit false
    "test_a_tolerance_left_out_is_zero_and_passes": "",  # left out is an explicit zero
    "test_by_default_the_tolerance_is_required": "",
    "test_errors_have_the_type_too": "",  # broken JSON
    "test_it_loads_into_an_empty_database_only": "",  # asks nothing
}
"""Tests that ask only what a message cannot say, and which of their cases."""


@pytest.fixture
def client_class() -> type[FlaskClient]:
    return TwoDoors


@pytest.fixture(autouse=True)
def something_was_compared(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test passes because nothing was asked over the other door."""
    before = TwoDoors.compared
    yield
    cases = UNCARRIED.get(request.node.originalname)
    uncarried = cases is not None and re.search(cases, request.node.name) is not None
    assert (TwoDoors.compared == before) == uncarried, "asked over gRPC-Web, or not, against what is written"
