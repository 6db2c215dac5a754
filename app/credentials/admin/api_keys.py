"""The pages of API keys, with which integrators use the public interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from flask import abort, flash, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from wtforms import SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.widgets import CheckboxInput

from app.accounts.proposal import API_KEYS, TwoPersons
from app.accounts.services.proposals import ReasonMissing, TooManyProposals
from app.approvals.admin import MayWaitForm
from app.approvals.api_keys import request_key
from app.audit.keys import AuditKeys
from app.console.access import ADMIN_BUTTON, ADMINISTER, Access, Audience
from app.console.caller import actor
from app.console.formats import pill, sentence, when
from app.console.lists import ListView, Present
from app.credentials.api_key import Scope
from app.credentials.models import ApiKey
from app.credentials.queries import key_by_id, last_days, uses_of
from app.credentials.services.api_keys import KeyRefused, revoke_key
from app.db.database import Database
from app.db.engine import reading
from app.network.edits.saving import same_name
from app.parts import current
from app.values.times import day_of, day_start

SCOPE_WORDS: Final = {
    Scope.READ: "ask the public operations, by the key's own limit",
    Scope.WEBHOOKS: "subscribe to accounts and transfers",
    Scope.ALL_WEBHOOKS: "subscribe to every transfer",
}


class NewKeyForm(MayWaitForm):
    """What a new key is called, what its bearer may do, and how often."""

    guarded_section = API_KEYS
    name = StringField(
        "Name",
        description="Whom it is for. 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    # The service checks what is picked and typed, and words the errors.
    scopes = SelectMultipleField(
        choices=[SelectChoice(scope.value, words) for scope, words in SCOPE_WORDS.items()],
        default=[Scope.READ.value],
        validate_choice=False,
        option_widget=CheckboxInput(),
    )
    rate_limit = StringField(
        "Limit",
        description="Such as 20/second or 100/minute;1000/hour. Leave empty for no limit.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "spellcheck": "false", "maxlength": "200"},
    )


DAYS: Final = 30
"""So many days of a key's use are shown."""


class ApiKeysView(ListView):
    """Keys: made, shown once, revoked, and how much they are used."""

    section = "People"
    model_class = ApiKey
    title = "API keys"
    explanation = "Integrators with a limit of their own, and what they may do. A key is shown once."
    nothing = "No API keys yet. Nobody needs one to ask the public operations."
    row_endpoint = "api_keys.show"
    audit_subject = "api key {name}"
    new_endpoint = "api_keys.new"
    new_label = "Add key"
    access = {
        "index_view": Access(Audience.OPERATOR),
        "new": ADMINISTER,
        "show": Access(Audience.OPERATOR),
        "revoke": ADMIN_BUTTON,
    }
    column_list = ("name", "key_id", "state", "scopes", "rate_limit", "last_used", "created_at")
    column_labels = {
        "key_id": "Key ID",
        "rate_limit": "Limit",
        "last_used": "Last used",
        "created_at": "Created",
    }
    column_sortable_list = ("name", "created_at")
    column_searchable_list = ("name", "key_id")
    column_default_sort = "name"
    column_filters = (Present(ApiKey.revoked_at, "State", "revoked", "valid"),)
    column_formatters = {
        "state": lambda v, c, m, p: _state(m.revoked_at),
        "scopes": lambda v, c, m, p: ", ".join(m.scopes),
        "rate_limit": lambda v, c, m, p: m.rate_limit or "none",
        "last_used": lambda v, c, m, p: _day(_last_days().get(m.id)),
        "created_at": lambda v, c, m, p: when(m.created_at),
    }

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        """Make a key and show it once."""
        form = NewKeyForm()
        if form.validate_on_submit():
            name = form.name.data
            try:
                key, saved = request_key(
                    current(Database),
                    current(AuditKeys),
                    current(TwoPersons),
                    name,
                    form.scopes.data,
                    form.rate_limit.data,
                    actor=actor(),
                    reason=form.why,
                )
            except (KeyRefused, ReasonMissing, TooManyProposals) as refused:
                form.form_errors.append(sentence(str(refused)))
            else:
                return self.render(
                    "console/api_keys/made.html", key=key, key_name=name, proposal_id=saved.proposal_id
                )
        return self.render("console/api_keys/new.html", form=form)

    @expose("/<int:api_key_id>")
    def show(self, api_key_id: int) -> str:
        """One key, its use by day, and the form that revokes it."""
        key, today = _key(api_key_id), day_of(current(Database).clock())
        with reading(current(Database).reads) as connection:
            uses = uses_of(connection, api_key_id, today - DAYS + 1)
        return self.render(
            "console/api_keys/show.html",
            key=key,
            state=_state(key["revoked_at"]),
            scopes=[(scope, SCOPE_WORDS[Scope(scope)]) for scope in key["scopes"]],
            uses=[(_day(row.day), row.requests, row.limited) for row in uses],
            days=DAYS,
        )

    @expose("/<int:api_key_id>/revoke", methods=("POST",))
    def revoke(self, api_key_id: int) -> ResponseReturnValue:
        """Revoke a key; its name has to be typed."""
        name = _key(api_key_id)["name"]
        if not same_name(request.form.get("typed", ""), name):
            flash(f"Type “{name}” to revoke the key. Nothing was changed.", "error")
            return redirect(url_for("api_keys.show", api_key_id=api_key_id))
        revoke_key(current(Database), current(AuditKeys), api_key_id, actor=actor())
        flash(f"Key {name} revoked. The gateway refuses requests with it.", "success")
        return redirect(url_for("api_keys.index_view"))


def _key(api_key_id: int) -> Mapping[str, Any]:
    with reading(current(Database).reads) as connection:
        row = key_by_id(connection, api_key_id)
    if row is None:
        abort(404)
    return dict(row)


def _state(revoked_at: datetime | None) -> Markup:
    return pill("valid", "good") if revoked_at is None else pill("revoked")


def _last_days() -> Mapping[int, int]:
    """When each key was last used, read once for a page."""
    if "last_days_of_keys" not in g:
        with reading(current(Database).reads) as connection:
            g.last_days_of_keys = last_days(connection)
    found: Mapping[int, int] = g.last_days_of_keys
    return found


def _day(day: int | None) -> str:
    """A day in UTC."""
    return "never" if day is None else f"{day_start(day):%Y-%m-%d}"
