"""The document is valid, complete, offline, and describes what the code does."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.api.openapi.document import catalogue, codes_table, reasons_table
from app.values.codes import ErrCode, Reason
from app.values.error_catalogue import CODE_CAUSES, ERRORS
from tests.api.shapes import ESTIMATE, STATUS, ZEROES

ERRORS_PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
OPERATIONS = ERRORS_PAGE.parent / "api"
ASSETS = Path(__file__).parents[2] / "app" / "api" / "docs" / "static"


def is_valid(document: Any) -> None:
    """Fail where it is no OpenAPI document. The library takes a second to import."""
    from openapi_spec_validator import validate  # noqa: PLC0415

    validate(document)


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    response = client.get("/openapi.json")
    assert response.status_code == 200
    assert response.content_type == "application/json"
    body: dict[str, Any] = response.get_json()
    return body


@pytest.fixture
def strict_document(strict: FlaskClient) -> dict[str, Any]:
    """The document of a gateway that reads strictly (``COMPAT_CLIENTS=0``)."""
    body: dict[str, Any] = strict.get("/openapi.json").get_json()
    return body


def operation(document: dict[str, Any], path: str) -> dict[str, Any]:
    """The path's operation; of those that have a GET and a POST, the first."""
    found, *others = document["paths"][path].values()
    assert (path in (ESTIMATE, STATUS)) == bool(others)
    assert isinstance(found, dict)
    return found


def component(document: dict[str, Any], operation: dict[str, Any], status: str = "200") -> dict[str, Any]:
    reference = operation["responses"][status]["content"]["application/json"]["schema"]["$ref"]
    found = document["components"]["schemas"][reference.rsplit("/", 1)[1]]
    assert isinstance(found, dict)
    return found


def failures(operation: dict[str, Any]) -> set[int]:
    """The HTTP statuses that the descriptions of an operation's failures name, each where it belongs."""
    refusals, others = (
        {int(status) for status in re.findall(r"^- (\d{3}): ", text, re.MULTILINE)}
        for text in (operation["responses"][name]["description"] for name in ("4XX", "default"))
    )
    assert max(refusals) < 500 <= min(others, default=500)
    return refusals | others


def test_document_with_waits_is_valid(open_app: Any) -> None:
    """It has all that the document without them has."""
    document = open_app(doors=("api", "wait")).test_client().get("/openapi.json").get_json()
    is_valid(document)
    assert document["openapi"].startswith("3.")


def test_strict_document_is_valid(strict_document: dict[str, Any]) -> None:
    is_valid(strict_document)


def test_reasons_and_codes_are_described(document: dict[str, Any]) -> None:
    description, page = document["info"]["description"], ERRORS_PAGE.read_text()
    assert reasons_table() in description
    for word in (*Reason, *(code.name for code in ErrCode), *(str(int(code)) for code in ErrCode)):
        quoted = re.compile(rf"(\| |`){re.escape(word)}(`| )")
        assert quoted.search(description), word
        assert quoted.search(page), word


def test_error_page_equals_the_catalogue() -> None:
    page = ERRORS_PAGE.read_text()
    assert page.endswith(f"\n{catalogue()}\n"), "run `make errors`"


def test_user_messages_hide_reasons_of_blocks() -> None:
    for row in ERRORS:
        assert row.user_message.endswith("."), (
            f"{row.reason}: app/values/error_catalogue.py needs a message for the user"
        )
        assert not re.search(r"risk|sanction|blocked", row.user_message, re.IGNORECASE)
        assert f"\n#### `{row.reason}`\n{row.cause}" in catalogue()
    assert codes_table() in catalogue()


def test_catalogue_has_every_reason_and_code() -> None:
    assert [row.reason for row in ERRORS] == list(dict.fromkeys(row.reason for row in ERRORS))
    assert {row.reason for row in ERRORS} == set(Reason)
    assert set(CODE_CAUSES) == set(ErrCode)
    assert {row.code for row in ERRORS} == set(ErrCode) - {ErrCode.ERROR_CODE_UNDEFINED}


def test_every_answer_has_every_field(document: dict[str, Any]) -> None:
    for path, zeroes in ZEROES.items():
        for each in document["paths"][path].values():
            for status in each["responses"]:
                if status == "304":
                    continue
                shape = component(document, each, status)
                assert set(shape["properties"]) == {"err", *zeroes}
                assert set(shape["required"]) == {"err", *zeroes}


def test_answers_are_complete_and_extensible(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    answered = {
        name: shape for name, shape in schemas.items() if not name.endswith(("Query", "Body", "Form"))
    }
    assert len(answered) >= 15
    for name, shape in answered.items():
        left_out = {"taken_back"} if name == "StatusChange" else set()  # by an event, where it is false
        assert shape["required"] == [each for each in shape["properties"] if each not in left_out], name
        assert shape.get("additionalProperties") is not False, name
    assert '"additionalProperties":false' not in json.dumps(document, separators=(",", ":"))


def test_failures_of_an_operation_have_one_shape(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for each in operations.values():
            assert set(each["responses"]) - {"304"} == {"200", "4XX", "default"}, path
            assert component(document, each, "4XX") is component(document, each, "default")
            assert {414, 431} <= failures(each), path


def test_flag_is_boolean(document: dict[str, Any]) -> None:
    """Which texts are read as one is in test_estimate.py and test_malformed.py."""
    (flag,) = (p["schema"] for p in operation(document, ESTIMATE)["parameters"] if p["name"] == "is_pegged")
    form = document["components"]["schemas"]["EstimateForm"]["properties"]["is_pegged"]
    assert flag["type"] == form["type"] == "boolean"


def test_examples_have_the_shape_of_their_answers(document: dict[str, Any]) -> None:
    shown = 0
    for path, each in ((name, each) for name in ZEROES for each in document["paths"][name].values()):
        content = each["responses"]["200"]["content"]["application/json"]
        for example in content.get("examples", {}).values():
            shown += 1
            assert list(example["value"]) == ["err", *ZEROES[path]]
            if example["value"]["err"]:
                assert {k: v for k, v in example["value"].items() if k != "err"} == ZEROES[path]
    assert shown >= 7


def test_strict_reading_has_its_own_document(
    document: dict[str, Any], strict_document: dict[str, Any]
) -> None:
    answered = component(document, operation(document, STATUS))["properties"]
    assert answered.pop("bridge_type")["enum"] == [0, 1, 2, 3, 4]
    assert component(strict_document, operation(strict_document, STATUS))["properties"] == answered
    for path in (ESTIMATE, STATUS):
        posted, strictly = (each["paths"][path]["post"] for each in (document, strict_document))
        assert posted["requestBody"]["content"].keys() == strictly["requestBody"]["content"].keys()
        assert (415 in failures(posted), 415 in failures(strictly)) == (False, True)
    for each, further in ((document, []), (strict_document, ["slippage_tolerance"])):
        required = [p["name"] for p in operation(each, ESTIMATE)["parameters"] if p["required"]]
        assert required == ["src_chain_id", "dst_chain_id", "token_symbol", "amt", *further]
        schemas = each["components"]["schemas"]
        assert set(schemas["EstimateForm"]["required"]) == set(required)
        assert schemas["EstimateBody"]["allOf"][0] == {"$ref": "#/components/schemas/EstimateForm"}
    # Code that is generated from one of them has the names of the other.
    assert set(document["components"]["schemas"]) == set(strict_document["components"]["schemas"])


def test_every_announced_path_exists(app: Flask, document: dict[str, Any]) -> None:
    served = {str(rule) for rule in app.url_map.iter_rules()}
    assert set(document["paths"]) <= served


def test_document_lists_wait_when_wait_is_served(open_app: Any, document: dict[str, Any]) -> None:
    app = open_app(doors=("api", "wait"))
    waiting = app.test_client().get("/openapi.json").get_json()
    assert set(waiting["paths"]) - set(document["paths"]) == {"/v2/waitTransferStatus", "/v2/transferEvents"}
    assert set(waiting["paths"]) <= {str(rule) for rule in app.url_map.iter_rules()}
    wait, events = (
        waiting["paths"][f"/v2/{name}"]["get"] for name in ("waitTransferStatus", "transferEvents")
    )
    assert [(p["name"], p.get("required", False)) for p in wait["parameters"]] == [
        ("transfer_id", True),
        ("after_status", False),
        ("timeout", False),
    ]
    assert component(waiting, wait) == component(waiting, waiting["paths"][STATUS]["post"])
    assert "text/event-stream" in events["responses"]["200"]["content"]


def test_unchanged_document_is_not_sent_again(client: FlaskClient) -> None:
    tag = client.get("/openapi.json").headers["ETag"]
    response = client.get("/openapi.json", headers={"If-None-Match": tag})
    assert (response.status_code, response.get_data()) == (304, b"")


def test_operations_have_their_pages(open_app: Any) -> None:
    app = open_app(doors=("api", "wait"))
    document = app.test_client().get("/openapi.json").get_json()
    for path, operations in document["paths"].items():
        name = path.removeprefix("/v2/")
        if name == path or name == "getTransferConfigsForAll":  # health checks, and a second name
            continue
        title = (OPERATIONS / f"{name}.md").read_text().partition("\n")[0]
        assert title.startswith(f"# {name}: ")
        for operation in operations.values():
            assert operation["summary"].startswith(name)
            assert operation["operationId"] != name or title == f"# {operation['summary']}"
        listed = f"]({name}.md)" in (OPERATIONS / "README.md").read_text()
        assert listed, f"docs/api/README.md does not lead to {name}.md"


def test_request_page_loads_only_from_here(client: FlaskClient) -> None:
    page = client.get("/docs/try/")
    assert page.content_type.startswith("text/html")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    html = page.get_data(as_text=True)
    links = re.findall(r'(?:src|href|data-document)="([^"]+)"', html)
    assert len(links) >= 5
    for link in links:
        assert not urlsplit(link).netloc
        assert client.get(urljoin("/docs/try/", link)).status_code == 200, link
    assert client.get("/docs/try/try.js").content_type.startswith("text/javascript")


def test_viewer_is_named_by_its_content(client: FlaskClient) -> None:
    """So browsers may cache it for ever, and nobody has changed it."""
    files = sorted(ASSETS.glob("swagger-ui-*.*.*.*.*"))
    assert [file.suffix for file in files] == [".css", ".js"]
    for file in files:
        digest = file.name.split(".")[-2]
        assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(digest)
        assert f'"{file.name}"' in (ASSETS / "try.html").read_text()
        assert "immutable" in client.get(f"/docs/try/{file.name}").headers["Cache-Control"]
    assert "Apache License" in (ASSETS / "swagger-ui-LICENSE.txt").read_text()
