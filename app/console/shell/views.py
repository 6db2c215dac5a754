"""The base of the console's views: an access rule for each route, the menu, and messages on the next page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from textwrap import shorten
from typing import Any, ClassVar, Concatenate, Final, ParamSpec, TypeVar

from flask import Blueprint, Flask, Response, flash, g, redirect, url_for
from flask.typing import ResponseReturnValue
from flask_admin import Admin, BaseView
from markupsafe import Markup
from msgspec import Struct
from sqlalchemy import Connection

from app.audit.services import Saved
from app.console.shell.access import READ, Access, may
from app.console.shell.caller import want_forms
from app.db.database import Database
from app.db.engine import run_read
from app.http.application import current
from app.values.amounts import grouped

T = TypeVar("T")
P = ParamSpec("P")


def read(query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a query with a connection that pages read by."""
    return run_read(current(Database).reads, query, *args, **kwargs)


def once_per_request(find: Callable[[], T]) -> Callable[[], T]:
    """The function, whose result is shared within a request."""
    name = f"{find.__module__}.{find.__name__}"

    @wraps(find)
    def found() -> T:
        if name not in g:
            setattr(g, name, find())
        result: T = g.get(name)
        return result

    return found


_LONGEST_FLASH: Final = 240


def flash_saved(saved: Saved) -> None:
    """Show what was done or proposed on the next page, with a link to its record."""
    if saved.record_id is None:
        flash("No differences to the current values. Nothing was saved.", "warning")
        return
    if saved.proposal_id is not None:
        flash("Proposed. The change takes effect when someone else approves it.", "success")
        return
    text = saved.brief or (
        saved.changes[0] if len(saved.changes) == 1 else f"{grouped(len(saved.changes))} changes"
    )
    text = shorten(text, _LONGEST_FLASH, placeholder=" …")
    link = url_for("audit.record", record_id=saved.record_id)
    flash(Markup('Done: {}. <a href="{}">Audit record {}</a>').format(text, link, saved.record_id), "success")


def after_saving(saved: Saved, url: str) -> ResponseReturnValue:
    """The page after a change: that of the proposal, where the change was proposed."""
    flash_saved(saved)
    if saved.proposal_id is not None:
        return redirect(url_for("proposals.show", proposal_id=saved.proposal_id))
    return redirect(url)


def download(content: bytes | str | Iterable[bytes] | Iterable[str], mimetype: str, name: str) -> Response:
    """A file that the browser saves."""
    headers = {"Content-Disposition": f"attachment; filename={name}"}
    return Response(content, mimetype=mimetype, headers=headers)


SECTIONS: Final = ("Overview", "Network", "Records", "People")
"""The groups of the menu, in its order."""


class ConsoleView(BaseView):
    """A view whose routes all have a rule in ``access``. A route without one fails the start.

    A route of flask-admin that the console does not use is overridden by None.
    """

    section: ClassVar[str] = "Overview"
    """The group of the menu; empty: other pages lead to it."""
    access: ClassVar[Mapping[str, Access]] = {}
    menu_page: ClassVar[str] = "index"
    """The route that the menu leads to."""
    tabs: ClassVar[Sequence[tuple[str, str]]] = ()
    """Endpoint and label of each view that is a tab of the same page. The menu shows only the first one."""
    menu_name: ClassVar[str | None] = None
    """The view's label in the menu, where it is not its name."""
    largest_form: ClassVar[int | None] = None
    """The most bytes that a form of the view may have, where the framework's limit is too low."""

    def create_blueprint(self, admin: Admin) -> Blueprint:
        blueprint: Blueprint = super().create_blueprint(admin)
        if self.largest_form is not None:
            # Runs before the guard. The guard then accepts such forms of those who are signed in.
            blueprint.before_request(partial(want_forms, self.largest_form))
        return blueprint

    def access_rules(self, app: Flask) -> dict[str, Access]:
        """The rule of each endpoint.

        :param app: has the routes of the view.
        :raises RuntimeError: a route has no rule.
        """
        ways = (rule.endpoint.rpartition(".") for rule in app.url_map.iter_rules())
        routes = {name for of, _, name in ways if of == self.endpoint} - {"static"}
        if missing := routes - set(self.access):
            raise RuntimeError(f"{type(self).__name__} has no access rule for {', '.join(sorted(missing))}")
        return {f"{self.endpoint}.{name}": self.access[name] for name in routes}

    def in_menu(self) -> bool:
        return not self.tabs or self.tabs[0][0] == self.endpoint

    def badge(self) -> int:
        return 0

    def _run_view(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        # The library's version runs a view again when it raises TypeError.
        return fn(self, *args, **kwargs)


class MenuEntry(Struct, frozen=True):
    """A link of the menu."""

    name: str
    url: str
    endpoints: frozenset[str]
    badge: int = 0


def menu(views: Iterable[ConsoleView]) -> list[tuple[str, list[MenuEntry]]]:
    """The menu of the current user, by section, without empty sections."""
    entries: dict[str, list[MenuEntry]] = {section: [] for section in SECTIONS}
    for view in views:
        page = view.menu_page
        rule = view.access.get(page, READ)
        if view.section in entries and may(rule.read) and view.in_menu():
            url = url_for(f"{view.endpoint}.{page}")
            own = frozenset([view.endpoint, *(endpoint for endpoint, _ in view.tabs)])
            entries[view.section].append(MenuEntry(view.menu_name or view.name, url, own, view.badge()))
    return [(section, found) for section, found in entries.items() if found]
