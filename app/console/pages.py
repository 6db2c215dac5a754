"""The console as a whole: its pages in the order of the menu, sign-in, access rules, headers and error pages.
Public requests run none of it.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from flask import Blueprint, Flask, Response, current_app, request
from flask_admin import Admin
from flask_admin.theme import Theme
from flask_wtf.csrf import CSRFError
from msgspec import Struct
from werkzeug.exceptions import HTTPException

from app.accounts.services.proposals import SecondPersonNeeded
from app.accounts.services.throttle import MustWait
from app.audit.rules.records import RecordUnreadable
from app.console.accounts import AccountView, OperatorsView
from app.console.audit import AuditView
from app.console.credentials.views import ApiKeysView, IngestTokensView
from app.console.dashboard.dashboard import HomeView
from app.console.estimates.views import EstimatesView
from app.console.network.blocks import BlockedAddressesView, BlockedNetworksView, RouteBlocksView
from app.console.network.chain_page import ChainPageView
from app.console.network.connect import ConnectView
from app.console.network.document import DocumentView
from app.console.network.history import HistoryView
from app.console.network.names import readable, stopped_chains
from app.console.network.pools import PoolsView
from app.console.network.routes import RoutesView
from app.console.network.tokens import PeggedPairsView, TokensView
from app.console.network.validators import ValidatorsView
from app.console.proposals import ProposalsView, decisions_to_see, proposals_about, proposed_rows, title_of
from app.console.refunds import WaitingRefundsView
from app.console.search import SearchView
from app.console.shell import caller, formats
from app.console.shell.access import SECURITY_RULES, Access, Rules, guard, may
from app.console.shell.formats import sentence
from app.console.shell.views import ConsoleView, MenuEntry, menu, read
from app.console.sign_in.passkey_pages import passkeys_work_here
from app.console.sign_in.setup import PREFIX, secure
from app.console.sign_in.step_up import ENDED_WORDS, refuse_other_bodies
from app.console.transfers.anomalies import AnomaliesView
from app.console.transfers.views import TransfersView
from app.console.watched_chains import WatchingView
from app.console.webhooks import WebhooksView
from app.db.writes import is_unavailable
from app.http.application import current
from app.http.errors import RETRY_SECONDS, answer_errors_by_pages
from app.http.headers import IMMUTABLE
from app.http.mounted import below, this_address
from app.http.public import DOCS
from app.observability.logs import failed_request
from app.observability.outages import FAILURES
from app.release import Release
from app.transfers.queries.logged import is_sandbox
from app.values.errors import GatewayError, Unavailable
from app.webhooks.services.subscriptions import NoSubscription


def _views() -> list[ConsoleView]:
    """The views in the order of the menu, within its sections."""
    return [
        TransfersView(),
        EstimatesView("Try an estimate", endpoint="estimates"),
        AnomaliesView(),
        WaitingRefundsView("Waiting refunds", endpoint="refunds"),
        ProposalsView("Proposals", endpoint="proposals"),
        ChainPageView(),
        ConnectView("Connect a chain", endpoint="connect"),
        WatchingView("Watched chains", endpoint="watching"),
        TokensView(),
        PoolsView(),
        RoutesView(),
        PeggedPairsView(),
        BlockedAddressesView(),
        BlockedNetworksView(),
        RouteBlocksView(),
        ValidatorsView("Validators", endpoint="validators"),
        DocumentView("Network document", endpoint="document"),
        AuditView("Audit log", endpoint="audit"),
        HistoryView("Past configuration", endpoint="history"),
        WebhooksView("Webhooks", endpoint="webhooks"),
        OperatorsView(),
        IngestTokensView(),
        ApiKeysView(),
        AccountView(),
        SearchView(),
    ]


_CHAINS_OF_HOOKS: Final = ("before_request_funcs", "after_request_funcs", "teardown_request_funcs")


class Console(Struct, frozen=True):
    """What the console's requests need; one of Flask's ``extensions``."""

    trusted_proxies: int
    public_origin: str
    """The address under which browsers open the console; empty where it is not configured."""
    public_url: str
    """The address under which users open their transfer's page; empty where it is not configured."""
    rules: Rules
    menu: Callable[[], list[tuple[str, list[MenuEntry]]]]
    """The menu of the current user, by section."""


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
    views = _views()
    admin.add_views(*views)
    admin.init_app(app)
    rules = dict(SECURITY_RULES)
    for view in (index, *views):
        rules.update(view.access_rules(app))
    app.extensions["console"] = Console(
        trusted_proxies, public_origin, public_url, rules, partial(menu, (index, *views))
    )
    _for_templates(app)
    own = set(app.blueprints) - blueprints
    _confine(app, before, own - {assets.name})  # styles and scripts need no sign-in
    for name in own:
        app.before_request_funcs.setdefault(name, []).append(partial(guard, rules, csrf))
        app.before_request_funcs[name].insert(0, refuse_other_bodies)
        app.after_request_funcs.setdefault(name, [])[:0] = [protect, compress]  # the last to run, backwards
    answer_errors_by_pages(app, f"{PREFIX}/", answer_error)


def _for_templates(app: Flask) -> None:
    formats.register(app)
    app.add_template_filter(readable)
    app.add_template_filter(lambda text: sentence(readable(text)), "sentence")
    app.add_template_global(partial(read, is_sandbox), "is_sandbox")
    app.context_processor(partial(_for_every_page, app.extensions["console"]))


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


def _for_every_page(console: Console) -> dict[str, Any]:
    return {
        "console_menu": console.menu,
        "may": partial(_may, console.rules),
        "passkeys_work_here": passkeys_work_here,
        "ended_words": ENDED_WORDS,
        "stopped_chains": stopped_chains,
        "decisions_to_see": decisions_to_see,
        "proposals_about": proposals_about,
        "proposed_rows": proposed_rows,
        "title_of_proposal": title_of,
        "release": lambda: current(Release),
        "docs_address": _docs_address,
    }


def _docs_address() -> str:
    """Where the documentation is: here, or at the address for everybody; empty where that is not known."""
    public_url: str = current_app.extensions["console"].public_url
    return below("/docs") if DOCS in current_app.blueprints else f"{public_url}/docs" if public_url else ""


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


_log = logging.getLogger(__name__)

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""No inline code and nothing from other hosts: not even an unescaped text could run a script."""

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_WORDS: Final = {
    400: ("The request could not be read", "Go back, reload the page and try again."),
    403: ("Your role does not allow this", "Ask an administrator if you need access to this page."),
    404: (
        "Page not found",
        "The address may be wrong, or the page was removed. Search finds transfers, chains and tokens.",
    ),
    405: ("This address cannot be used this way", "Go back and use the buttons of the page."),
    409: ("This conflicts with the current state", "Go back, reload the page and try again."),
    413: ("The form is too large", "Nothing was changed. Go back and send it in smaller parts."),
    414: ("The address is too long", "Go back and shorten what you searched for."),
    415: ("This is not a form of the console", "Go back and use the buttons of the page."),
    429: ("Too many requests", "Nothing was changed. Wait a minute, then try again."),
    503: ("The database is not available", "Nothing was changed. Try again in a few seconds."),
}
_FAILED: Final = (
    "Something went wrong",
    "The gateway's log has the details. Check whether your change was saved before you repeat it.",
)


def protect(response: Response) -> Response:
    """Set the headers. Styles and scripts are cached, as their addresses are versioned. Pages are not."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    cached = request.endpoint == "console.static" and "v" in request.args
    response.headers["Cache-Control"] = IMMUTABLE if cached else "no-store"
    return response


_COMPRESSED: Final = frozenset({"text/html", "text/css", "text/javascript", "image/svg+xml"})
_LEAST_COMPRESSED: Final = 1024
_OWN_REQUESTS: Final = ("same-origin", "none")
"""What browsers say of a request that the console itself made, or that somebody typed."""


def compress(response: Response) -> Response:
    """Compress a page, a style or a script, in every deployment: proxies must not.

    An attacker who makes a browser request a compressed page repeatedly could guess its content from its
    length (BREACH). So only requests of the console itself are answered compressed, and no answer to a form:
    it may show a password, token or code (docs/security.md#compressed).
    """
    by_itself = request.method == "GET" and request.headers.get("Sec-Fetch-Site") in _OWN_REQUESTS
    page = response.status_code == 200 and response.mimetype in _COMPRESSED
    if not (page and by_itself and request.accept_encodings["gzip"]):
        return response
    response.direct_passthrough = False
    body = response.get_data()
    if len(body) >= _LEAST_COMPRESSED:
        response.set_data(gzip.compress(body, compresslevel=6, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        response.vary.update(("Accept-Encoding", "Sec-Fetch-Site"))
        etag, _ = response.get_etag()
        if etag:
            response.set_etag(etag, weak=True)
    return response


def answer_error(error: Exception) -> Response:
    """A page that says what happened and what to do. The gateway's own errors show their own message."""
    status, (title, advice) = _explain(error)
    if status >= 500:
        level = logging.ERROR if status == 500 else logging.WARNING
        FAILURES.report(_log, level, "%s %s answered %d", request.method, request.path, status, error=error)
    # Not by render_template: it would look up who is signed in, which may be what failed.
    page = current_app.jinja_env.get_template("console/error.html")
    text = page.render(
        status=status,
        title=title,
        advice=advice,
        retry=_again(status),
        request_id=failed_request(status),
        dashboard=below(f"{PREFIX}/"),
        chains=below(f"{PREFIX}/chains/"),
    )
    response = Response(text, status)
    if isinstance(error, MustWait):
        response.headers["Retry-After"] = str(error.seconds)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return protect(response)


def _again(status: int) -> str | None:
    """The address to try again, where that may help and the request only read a page."""
    if request.method != "GET" or status not in (429, 500, 503):
        return None
    return this_address()


def _explain(error: Exception) -> tuple[int, tuple[str, str]]:
    if isinstance(error, CSRFError):
        return 400, ("This form has expired", "Go back, reload the page and send the form again.")
    if isinstance(error, MustWait):
        return 429, (str(error), "Your password or code was not checked.")
    if isinstance(error, Unavailable) or is_unavailable(error):
        return 503, _WORDS[503]
    if isinstance(error, SecondPersonNeeded):
        return 409, (
            "This change needs a second approval",
            "Nothing was changed. Propose it on its own page.",
        )
    if isinstance(error, RecordUnreadable):
        return 500, (
            sentence(str(error)),
            "Run “flask --app wsgi audit verify”: it names the last intact record.",
        )
    if isinstance(error, GatewayError):
        return 400, (sentence(error.msg), "Go back and correct it. Nothing was changed.")
    if isinstance(error, NoSubscription | HTTPException):
        code = 404 if isinstance(error, NoSubscription) else error.code or 500
        return code, _WORDS.get(code, _WORDS[400] if 400 <= code < 500 else _FAILED)
    return 500, _FAILED
