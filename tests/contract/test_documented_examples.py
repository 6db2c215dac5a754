"""Every example of the OpenAPI document is what the sandbox answers."""

from __future__ import annotations

import pytest

from tests.contract.documented_examples import answers, examples
from tests.contract.recorded_answers import sandbox_on


def test_documented_examples_are_unchanged(empty_url: str) -> None:
    recorded = examples()
    for operation, name, answer in answers(sandbox_on(empty_url, doors=("api", "wait"))):
        assert answer == recorded[operation][name]["value"], (
            f"{operation}, {name}: if that is meant, run `python -m tests.contract.documented_examples`"
        )


@pytest.mark.one_database
def test_strict_examples_have_operation_fields(empty_url: str) -> None:
    app = sandbox_on(empty_url, doors=("api", "wait"), compat_clients=False)
    document = app.test_client().get("/openapi.json").get_json()
    shown = {each["operationId"]: each for path in document["paths"].values() for each in path.values()}
    for operation, name, answer in answers(app):
        content = shown[operation]["responses"]["200"]["content"]
        if "application/json" in content:
            assert answer == content["application/json"]["examples"][name]["value"], f"{operation}, {name}"
