"""Commands that one person gives although TWO_PERSONS requires two: refused, or for a reason on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.accounts import list_accounts
from app.audit.services import list_audit
from app.db.database import Database
from app.http.application import add_part, part_of
from tests.console.visitor import add_account
from tests.network.services.network_kit import changed, network, text

WHY = "both administrators are on a plane"
REFUSED = "TWO_PERSONS requires a second approval"


def run(app: Flask, *words: str, stdin: bytes = b"") -> Result:
    environment = {"OPERATOR_PASSWORD": "a long enough password"}
    return app.test_cli_runner().invoke(args=list(words), input=stdin, env=environment)


Guard = Callable[..., None]


@pytest.fixture
def guard(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Guard:
    """Names sections for the rest of the test."""

    def name(*sections: str) -> None:
        add_part(app, TwoPersons, TwoPersons(frozenset(sections)))

    return name


@pytest.fixture
def filled(app: Flask) -> Flask:
    """The small network, two administrators and an operator."""
    assert run(app, "network", "import", "-", stdin=text(network())).exit_code == 0
    for role, email in ((Role.ADMIN, "one@example.org"), (Role.ADMIN, "two@example.org")):
        add_account(app, role, email)
    add_account(app, Role.OPERATOR)
    return app


def actions(app: Flask) -> list[str]:
    return [row.action for row in list_audit(part_of(app, Database))]


def test_import_names_the_guarded_sections(filled: Flask, guard: Guard) -> None:
    guard("chains", "routes", "operators")
    document = changed("routes.0.base_fee", "1")
    document["chains"][0]["name"] = "Mainnet"
    document["pools"][0]["total_cap"] = "8"
    before = run(filled, "network", "export").stdout
    dry = run(filled, "network", "import", "--dry-run", "-", stdin=text(document))
    assert dry.exit_code == 0
    assert dry.stdout.endswith(
        "this import would need a second approval or --break-glass REASON: it changes chains, routes\n"
    )
    refused = run(filled, "network", "import", "-", stdin=text(document))
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert f"{REFUSED} for changes of chains, routes:" in refused.stderr
    assert "--break-glass REASON" in refused.stderr
    empty = run(filled, "network", "import", "--break-glass", " ", "-", stdin=text(document))
    assert (empty.exit_code, run(filled, "network", "export").stdout) == (1, before)

    made = run(filled, "network", "import", "--break-glass", WHY, "-", stdin=text(document))
    assert made.exit_code == 0
    assert json.loads(run(filled, "network", "export").stdout) == document
    assert actions(filled)[:2] == ["network.import", "two_persons.break_glass"]
    glass = list_audit(part_of(filled, Database))[1]
    assert glass.detail == f"one person changed chains, routes; reason: {WHY}"
    assert glass.actor.startswith("cli:")


def test_unguarded_import_needs_no_second_person(filled: Flask, guard: Guard) -> None:
    """Nor one with stops only."""
    guard("chains", "tokens", "pegged_pairs", "blocked_addresses")
    document = changed("routes.0.base_fee", "1")
    document["chains"][0] |= {"disabled": True, "disabled_reason": "incident"}
    document["tokens"][0]["xfer_disabled"] = True
    document["tokens"][1]["pool_disabled"] = document["tokens"][1]["transfer_disabled"] = True
    document["pegged_pairs"][0]["org_token"] = {"xfer_disabled": True}
    dry = run(filled, "network", "import", "--dry-run", "-", stdin=text(document))
    assert "break-glass" not in dry.stdout
    assert run(filled, "network", "import", "-", stdin=text(document)).exit_code == 0
    assert "two_persons.break_glass" not in actions(filled)
    back = run(filled, "network", "import", "-", stdin=text(network()))
    assert back.exit_code == 1, "to start again is no stop"
    assert "for changes of chains, tokens, pegged_pairs:" in back.stderr


def test_import_from_configs_obeys_rule(app: Flask, guard: Guard) -> None:
    guard("routes", "config_fields")
    configs = Path(__file__).parents[1] / "contract" / "vectors" / "transfer_configs_testnet.json"
    refused = run(app, "network", "import", "--from-configs", str(configs))
    assert refused.exit_code == 1
    assert f"{REFUSED} for changes of routes, config_fields:" in refused.stderr
    assert json.loads(run(app, "network", "export").stdout)["chains"] == []
    command = ("network", "import", "--break-glass", WHY, "--from-configs", str(configs))
    assert run(app, *command).exit_code == 0
    assert "two_persons.break_glass" in actions(app)


def test_unneeded_reason_is_not_recorded(filled: Flask) -> None:
    document = changed("routes.0.base_fee", "1")
    made = run(filled, "network", "import", "--break-glass", WHY, "-", stdin=text(document))
    assert made.exit_code == 0
    assert "two_persons.break_glass" not in actions(filled)


GUARDED = (
    "operators create new@example.org --role admin",
    "operators set-role operator@example.org --role admin",
    "operators disable two@example.org",
    "operators new-password two@example.org",
    "operators reset-second-factor three@example.org",
    "operators enable off@example.org",
    "ingest-tokens create relayer",
    "api-keys create wallet",
)


def test_guarded_command_requires_break_glass_reason(filled: Flask, guard: Guard) -> None:
    database = part_of(filled, Database)
    add_account(filled, Role.VIEWER, "off@example.org", active=False)
    add_account(
        filled, Role.VIEWER, "three@example.org", tf_totp_secret="x", tf_primary_method="authenticator"
    )
    guard("operators", "ingest_tokens", "api_keys")
    for words in map(str.split, GUARDED):
        before = list_accounts(database)
        refused = run(filled, *words)
        assert refused.exit_code == 1, words
        assert REFUSED in refused.output
        assert list_accounts(database) == before
        made = run(filled, *words, "--break-glass", WHY)
        assert made.exit_code == 0, made.output
        assert actions(filled)[1] == "two_persons.break_glass"
        assert list_accounts(database) != before or words[0] != "operators"


def test_first_accounts_and_revoking_need_nothing(app: Flask, guard: Guard) -> None:
    guard("operators", "ingest_tokens")
    for email in ("one@example.org", "two@example.org"):
        assert run(app, "operators", "create", email, "--role", "admin").exit_code == 0
    assert run(app, "operators", "create", "three@example.org", "--role", "viewer").exit_code == 1
    guard("operators")
    assert run(app, "ingest-tokens", "create", "relayer").exit_code == 0
    guard("operators", "ingest_tokens")
    assert run(app, "ingest-tokens", "revoke", "relayer").exit_code == 0
    assert "two_persons.break_glass" not in actions(app)


@pytest.mark.parametrize("section", ["pools", "routes", "validators"])
def test_one_person_cannot_make_guarded_token(filled: Flask, guard: Guard, section: str) -> None:
    """Where a section that reporters change is guarded."""
    assert run(filled, "ingest-tokens", "create", "before").exit_code == 0
    guard(section, "operators")
    for words in (("create", "relayer", "--type", "fee.updated"), ("rotate", "before")):
        refused = run(filled, "ingest-tokens", *words)
        assert refused.exit_code == 1, words
        assert f"{REFUSED} for changes of ingest_tokens:" in refused.stderr
        assert run(filled, "ingest-tokens", *words, "--break-glass", WHY).exit_code == 0
        assert actions(filled)[1] == "two_persons.break_glass"
