"""What each address of the console answers to whom."""

from __future__ import annotations

from typing import Any

from flask import Flask
from werkzeug.routing import Rule

ANYONE, VIEWER, OPERATOR, ADMIN, NOBODY = "anyone", "viewer", "operator", "admin", "nobody"
LISTED = {"index_view": (VIEWER, NOBODY)}


def of_view(name: str, routes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {f"{name}.{route}": who for route, who in routes.items()}


EDITED = LISTED | {"new": (OPERATOR, OPERATOR), "edit": (VIEWER, OPERATOR)}
EDITED |= dict.fromkeys(("remove", "restore"), (OPERATOR, OPERATOR))
SWITCHED = dict.fromkeys(("stop", "resume"), (OPERATOR, OPERATOR))

EXPECTED: dict[str, tuple[str, str]] = {
    "console.static": (ANYONE, NOBODY),
    "admin.index": (VIEWER, NOBODY),
    "admin.refresh": (VIEWER, NOBODY),
    "security.static": (NOBODY, NOBODY),
    "security.login": (ANYONE, ANYONE),
    "security.logout": (NOBODY, VIEWER),
    "security.change_password": (VIEWER, VIEWER),
    "security.two_factor_setup": (ANYONE, ANYONE),
    "security.two_factor_setup_validate": (NOBODY, VIEWER),
    "security.two_factor_token_validation": (ANYONE, ANYONE),
    "security.two_factor_rescue": (NOBODY, NOBODY),
    "security.tf_select": (NOBODY, NOBODY),
    "security.mf_recovery": (ANYONE, ANYONE),
    "security.mf_recovery_codes": (NOBODY, NOBODY),
    "security.wan_signin": (ANYONE, ANYONE),
    "security.wan_signin_response": (NOBODY, ANYONE),
    "security.wan_register": (VIEWER, VIEWER),
    "security.wan_register_response": (NOBODY, VIEWER),
    "security.wan_delete": (NOBODY, VIEWER),
    "account.index": (VIEWER, NOBODY),
    "account.recovery_codes": (VIEWER, VIEWER),
    "account.sign_out_everywhere": (NOBODY, VIEWER),
    "transfers.index": (VIEWER, NOBODY),
    "transfers.transfer": (VIEWER, NOBODY),
    "transfers.add_note": (NOBODY, OPERATOR),
    "transfers.remove_note": (NOBODY, OPERATOR),
    "search.index": (VIEWER, NOBODY),
    "estimates.index": (VIEWER, NOBODY),
    "audit.index": (VIEWER, NOBODY),
    "audit.record": (VIEWER, NOBODY),
    "audit.record_file": (VIEWER, NOBODY),
    "audit.export_csv": (VIEWER, NOBODY),
    "audit.export_lines": (VIEWER, NOBODY),
    "account.kept": (VIEWER, NOBODY),
    "account.sign_out_one": (NOBODY, VIEWER),
    "transfers.export_csv": (VIEWER, NOBODY),
    "transfers.acknowledge": (NOBODY, OPERATOR),
    "audit.verify": (NOBODY, VIEWER),
    "operators.index_view": (ADMIN, NOBODY),
    "operators.new": (ADMIN, ADMIN),
    "operators.edit": (ADMIN, ADMIN),
    "operators.end_sessions": (NOBODY, ADMIN),
    "operators.reset_second_factor": (ADMIN, ADMIN),
    "operators.new_password": (ADMIN, ADMIN),
    "operators.demand_second_factor": (NOBODY, ADMIN),
    **of_view("chains", EDITED | SWITCHED | {"new": (OPERATOR, NOBODY)}),
    **of_view("tokens", EDITED),
    **of_view("pools", EDITED),
    **of_view("routes", EDITED | {"base_fees": (OPERATOR, OPERATOR)}),
    **of_view("route_blocks", EDITED),
    **of_view("pegged_pairs", EDITED),
    **of_view("blocked_addresses", EDITED),
    **of_view("blocked_networks", EDITED),
    **of_view("anomalies", LISTED | {"acknowledge": (NOBODY, OPERATOR)}),
    "refunds.index": (VIEWER, NOBODY),
    "connect.index": (OPERATOR, OPERATOR),
    "connect.token": (OPERATOR, OPERATOR),
    **of_view("document", dict.fromkeys(("index", "export", "at"), (VIEWER, NOBODY))),
    "document.compare": (NOBODY, VIEWER),
    "document.apply": (NOBODY, ADMIN),
    **of_view("history", dict.fromkeys(("index", "row", "at", "at_document"), (VIEWER, NOBODY))),
    "history.undo": (OPERATOR, OPERATOR),
    "proposals.index": (VIEWER, NOBODY),
    "proposals.show": (VIEWER, NOBODY),
    "proposals.approve": (NOBODY, OPERATOR),
    "proposals.reject": (NOBODY, OPERATOR),
    "proposals.withdraw": (NOBODY, VIEWER),
    "validators.index": (VIEWER, NOBODY),
    "validators.members": (VIEWER, NOBODY),
    "validators.sets": (VIEWER, NOBODY),
    "validators.opening": (ADMIN, ADMIN),
    "watching.index": (VIEWER, NOBODY),
    "watching.stop": (NOBODY, OPERATOR),
    "watching.start": (NOBODY, OPERATOR),
    "ingest_tokens.index_view": (ADMIN, NOBODY),
    "ingest_tokens.new": (ADMIN, ADMIN),
    "ingest_tokens.show": (ADMIN, NOBODY),
    "ingest_tokens.revoke": (NOBODY, ADMIN),
    "ingest_tokens.rotate": (NOBODY, ADMIN),
    "api_keys.index_view": (OPERATOR, NOBODY),
    "api_keys.new": (ADMIN, ADMIN),
    "api_keys.show": (OPERATOR, NOBODY),
    "api_keys.revoke": (NOBODY, ADMIN),
    "webhooks.index": (OPERATOR, NOBODY),
    "webhooks.new": (OPERATOR, OPERATOR),
    "webhooks.show": (OPERATOR, NOBODY),
    **of_view(
        "webhooks",
        dict.fromkeys(("pause", "resume", "test", "replay", "retry", "rotate", "remove"), (NOBODY, OPERATOR)),
    ),
}
"""Who may read and who may change through each endpoint. A route that is not here fails the test."""


def console_rules(app: Flask) -> list[Rule]:
    return [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/admin")]


def path_of(app: Flask, rule: Rule) -> str:
    values: dict[str, Any] = dict.fromkeys(rule.arguments, "0")
    values |= {"filename": "console.css"} if "filename" in rule.arguments else {}
    with app.test_request_context():
        return app.url_map.bind("localhost").build(rule.endpoint, values)
