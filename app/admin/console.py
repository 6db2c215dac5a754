"""Registers the console: sign-in, views and access rules. Public requests run none of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from flask import Blueprint, Flask
from flask_admin import Admin
from flask_admin.theme import Theme
from msgspec import Struct

from app.accounts.sign_in.passkey_pages import passkeys_work_here
from app.accounts.sign_in.saved_forms import refuse_other_bodies, words_of_end
from app.accounts.sign_in.setup import PREFIX, secure
from app.admin.console_pages import VIEWS, HomeView
from app.admin.freshness import shows_sandbox
from app.console import caller, formats, responses
from app.console.access import SECURITY_RULES, Access, Rules, guard, may
from app.console.views import menu
from app.db.database import Database
from app.http.application import current
from app.http.errors import answer_errors_by_pages
from app.network.admin.names import stopped_chains
from app.release import Release

_CHAINS_OF_HOOKS: Final = ("before_request_funcs", "after_request_funcs", "teardown_request_funcs")


class Console(Struct, frozen=True):
    """What the console's requests need; one of Flask's ``extensions``."""

    trusted_proxies: int
    public_origin: str
    """The address under which browsers open the console; empty where it is not configured."""
    public_url: str
    """The address under which users open their transfer's page; empty where it is not configured."""
    rules: Rules


def open_console(
    app: Flask,
    *,
    secret_key: str,
    secret_keys_old: tuple[str, ...],
    public_origin: str,
    public_url: str,
    trusted_proxies: int,
) -> None:
    """Serve the console under ``/admin/``. Without a secret key it only shows that it needs one."""
    if not secret_key:
        app.register_blueprint(_closed())
        return
    before = {name: list(getattr(app, name).get(None, ())) for name in _CHAINS_OF_HOOKS}
    blueprints = set(app.blueprints)
    caller.register(app)
    csrf = secure(app, secret_key, secret_keys_old)
    assets = Blueprint(
        "console", "app.console", url_prefix=PREFIX, static_folder="static", template_folder="templates"
    )
    app.register_blueprint(assets)
    index = HomeView()
    admin = Admin(name="Transfer gateway", index_view=index, theme=Theme("console", "console/base.html"))
    views = [view() for view in VIEWS]
    admin.add_views(*views)
    admin.init_app(app)
    rules = dict(SECURITY_RULES)
    for view in (index, *views):
        rules.update(view.access_rules(app))
    app.extensions["console"] = Console(trusted_proxies, public_origin, public_url, rules)
    formats.register(app)
    app.add_template_global(lambda: shows_sandbox(current(Database)), "is_sandbox")
    app.context_processor(partial(_for_every_page, (index, *views), rules))
    own = set(app.blueprints) - blueprints
    _confine(app, before, own - {assets.name})  # styles and scripts need no sign-in
    for name in own:
        app.before_request_funcs.setdefault(name, []).append(partial(guard, rules, csrf))
        app.before_request_funcs[name].insert(0, refuse_other_bodies)
        app.after_request_funcs.setdefault(name, []).insert(0, responses.protect)  # the last to run
    answer_errors_by_pages(app, f"{PREFIX}/", responses.answer_error)


def _confine(app: Flask, before: dict[str, list[Any]], blueprints: Iterable[str]) -> None:
    """Run the hooks of the extensions around the console's own requests only.

    Public requests have no session: there the hooks would cost time and add ``Vary: Cookie`` to answers that
    depend on no cookie.
    """
    for name in _CHAINS_OF_HOOKS:
        hooks = getattr(app, name)
        added = [hook for hook in hooks.get(None, ()) if hook not in before[name]]
        hooks[None] = [hook for hook in hooks.get(None, ()) if hook in before[name]]
        for blueprint in blueprints:
            hooks.setdefault(blueprint, []).extend(added)


def _for_every_page(views: Iterable[Any], rules: Rules) -> dict[str, Any]:
    """What the base template needs."""
    return {
        "console_menu": partial(menu, views),
        "may": partial(_may, rules),
        "passkeys_work_here": passkeys_work_here,
        "words_of_end": words_of_end,
        "stopped_chains": stopped_chains,
        "release": lambda: current(Release),
    }


def _may(rules: Rules, endpoint: str, method: str = "GET") -> bool:
    """Whether the current user may use a route: buttons that would be refused are not shown."""
    rule: Access | None = rules.get(endpoint)
    return rule is not None and may(rule.of(method))


def _closed() -> Blueprint:
    """The page at the console's address while there is no key to sign its sessions with."""
    closed = Blueprint("console", __name__, url_prefix=PREFIX)

    @closed.get("/")
    def index() -> tuple[str, int, dict[str, str]]:
        return (
            "The console needs SECRET_KEY: set it and start the gateway again.\n",
            503,
            {
                "Content-Type": "text/plain; charset=utf-8",
            },
        )

    return closed
