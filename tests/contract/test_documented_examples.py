"""Every example of the OpenAPI document is what the sandbox answers."""

from __future__ import annotations

from tests.contract.conftest import OpenSandbox
from tests.contract.documented_examples import answers, examples


def test_documented_examples_are_unchanged(open_sandbox: OpenSandbox) -> None:
    recorded = examples()
    for operation, name, answer in answers(open_sandbox(doors=("api", "wait"))):
        assert answer == recorded[operation][name]["value"], (
            f"{operation}, {name}: if that is meant, run `python -m tests.contract.documented_examples`"
        )


def test_strict_examples_have_operation_fields(open_sandbox: OpenSandbox) -> None:
    app = open_sandbox(doors=("api", "wait"), compat_clients=False)
    document = app.test_client().get("/openapi.json").get_json()
    shown = {each["operationId"]: each for path in document["paths"].values() for each in path.values()}
    for operation, name, answer in answers(app):
        content = shown[operation]["responses"]["200"]["content"]
        if "application/json" in content:
            assert answer == content["application/json"]["examples"][name]["value"], f"{operation}, {name}"
