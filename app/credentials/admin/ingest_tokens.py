"""The pages of ingest tokens, which let reporters send events over HTTP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from flask import abort, flash, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from wtforms import BooleanField, SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import NumberRange, Optional
from wtforms.widgets import CheckboxInput

from app.accounts.proposal import INGEST_TOKENS, TwoPersons
from app.accounts.services.proposals import ReasonMissing, TooManyProposals
from app.approvals.admin import MayWaitForm
from app.approvals.ingest_tokens import request_rotation, request_token
from app.audit.keys import AuditKeys
from app.console.access import ADMIN_BUTTON, ADMINISTER, Access, Audience
from app.console.caller import actor
from app.console.formats import pill, sentence, when
from app.console.forms.numbers import CountField
from app.console.lists import ListView, Present
from app.credentials.ingest_token import EnvironmentTokens
from app.credentials.models import IngestToken
from app.credentials.queries import token_by_id
from app.credentials.services.ingest_tokens import (
    TYPES,
    TokenRecord,
    TokenRefused,
    TokenTerms,
    list_tokens,
    revoke_token,
)
from app.db.database import Database
from app.db.engine import reading
from app.network.admin.names import chain_names
from app.network.edits.saving import same_name
from app.parts import current

MAX_DAYS: Final = 3650
"""The longest that a token made in the console is valid: ten years."""

_LONGEST: Final = 20
"""Digits of a chain id at most."""


class NewTokenForm(MayWaitForm):
    """What a new token is called, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    guarded_section = INGEST_TOKENS
    name = StringField(
        "Name",
        description="Shown on every event. 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    every_type = BooleanField("All event types, including types added later")
    every_chain = BooleanField("All chains, including chains added later")
    # The service checks what is picked, and words the errors.
    types = SelectMultipleField(
        choices=[SelectChoice(name) for name in TYPES], validate_choice=False, option_widget=CheckboxInput()
    )
    chains = SelectMultipleField(validate_choice=False, option_widget=CheckboxInput())

    days = CountField(
        "Valid for (days)",
        description="Leave empty for no expiry.",
        validators=[Optional(), NumberRange(1, MAX_DAYS)],
        render_kw={"inputmode": "numeric"},
    )
    quota_events = CountField(
        "Maximum new events",
        description="Leave empty for no limit. All tokens of a reporter count together.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )
    quota_seconds = CountField(
        "Quota period (seconds)",
        description="For example 3600: the maximum counts for each full hour.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )

    def __init__(self, chains: Mapping[int, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chains.choices = [SelectChoice(str(chain_id), name) for chain_id, name in chains.items()]

    def validate(self, extra_validators: Any = None) -> bool:
        """What a token allows is always chosen: nothing ticked may be a mistake, and would allow all."""
        whole = super().validate(extra_validators)
        pairs = ((self.types, self.every_type, "event types"), (self.chains, self.every_chain, "chains"))
        for picked, every, things in pairs:
            if bool(picked.data) is bool(every.data):
                picked.errors = [
                    f"Choose either all {things} or single ones, not both."
                    if every.data
                    else f"Select the {things} that the token allows, or all of them."
                ]
                whole = False
        return whole

    def terms(self, now: datetime) -> TokenTerms:
        """Until when the token is valid, and how much may be reported with it."""
        days = self.days.data
        return TokenTerms(
            expires_at=None if days is None else now + timedelta(days=days),
            quota_events=self.quota_events.data,
            quota_seconds=self.quota_seconds.data,
        )

    def chain_ids(self) -> list[int]:
        """The chains that are picked.

        :raises TokenRefused: one is not named by its id.
        """
        picked = self.chains.data
        if not all(chain.isascii() and chain.isdecimal() and len(chain) <= _LONGEST for chain in picked):
            raise TokenRefused("Choose chains from the list: reload the page and try again.")
        return [int(chain) for chain in picked]


class IngestTokensView(ListView):
    """Reporters' tokens: made, shown once, revoked."""

    section = "People"
    model_class = IngestToken
    title = "Ingest tokens"
    explanation = "Which reporters may send events, of which types and chains. A token is shown once."
    nothing = "No ingest tokens yet. A reporter needs one to send events over HTTP."
    row_endpoint = "ingest_tokens.show"
    audit_subject = "ingest token {name}"
    new_endpoint = "ingest_tokens.new"
    new_label = "Add token"
    list_template = "console/ingest_tokens/list.html"
    access = {
        "index_view": Access(Audience.ADMIN),
        "new": ADMINISTER,
        "show": Access(Audience.ADMIN),
        "revoke": ADMIN_BUTTON,
        "rotate": ADMIN_BUTTON,
    }
    column_list = (
        "name", "key_id", "state", "expires_at", "types", "chains", "last_received_at", "created_at",
    )  # fmt: skip
    column_labels = {
        "key_id": "Key ID",
        "expires_at": "Expires",
        "chains": "Chains",
        "last_received_at": "Last event",
        "created_at": "Created",
    }
    column_sortable_list = ("name", "created_at")
    column_searchable_list = ("name", "key_id")
    column_default_sort = "name"
    column_filters = (Present(IngestToken.revoked_at, "State", "revoked", "valid"),)
    column_formatters = {
        "key_id": lambda v, c, m, p: _key_id(m.key_id),
        "state": lambda v, c, m, p: _state(m.revoked_at, m.expires_at),
        "types": lambda v, c, m, p: "all" if m.types is None else ", ".join(m.types),
        "chains": lambda v, c, m, p: "all" if m.chains is None else ", ".join(map(_chain, m.chains)),
        "last_received_at": lambda v, c, m, p: when(_last().get(m.name)),
        "created_at": lambda v, c, m, p: when(m.created_at),
        "expires_at": lambda v, c, m, p: when(m.expires_at) if m.expires_at else "never",
    }

    def of_environment(self) -> list[str]:
        """Names of the tokens from the settings."""
        return [token.name for token in current(EnvironmentTokens)]

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        """Make a token and show it once."""
        form = NewTokenForm(chain_names())
        if form.validate_on_submit():
            name = form.name.data
            try:
                token, saved = request_token(
                    current(Database),
                    current(AuditKeys),
                    current(TwoPersons),
                    name,
                    form.types.data,
                    form.chain_ids(),
                    actor=actor(),
                    terms=form.terms(current(Database).clock()),
                    reason=form.why,
                )
            except (TokenRefused, ReasonMissing, TooManyProposals) as refused:
                form.form_errors.append(sentence(str(refused)))
            else:
                return self.render(
                    "console/ingest_tokens/made.html",
                    token=token,
                    token_name=name,
                    proposal_id=saved.proposal_id,
                )
        return self.render("console/ingest_tokens/new.html", form=form)

    @expose("/<int:token_id>")
    def show(self, token_id: int) -> str:
        """One token, and the form that revokes it."""
        token = _token(token_id)
        return self.render(
            "console/ingest_tokens/show.html",
            token=token,
            state=_state(token["revoked_at"], token["expires_at"]),
            last=_last().get(token["name"]),
            age=_ages().get(token["key_id"], ""),
            waits=current(TwoPersons).guards(INGEST_TOKENS),
            chains=None if token["chains"] is None else [_chain(chain) for chain in token["chains"]],
        )

    @expose("/<int:token_id>/revoke", methods=("POST",))
    def revoke(self, token_id: int) -> ResponseReturnValue:
        """Revoke a token; its key ID has to be typed, as another token may have the same name."""
        token = _token(token_id)
        if not same_name(request.form.get("typed", ""), token["key_id"]):
            flash(f"Type the key ID {token['key_id']} to revoke the token. Nothing was changed.", "error")
            return redirect(url_for("ingest_tokens.show", token_id=token_id))
        revoke_token(
            current(Database),
            current(AuditKeys),
            current(EnvironmentTokens),
            token["name"],
            actor=actor(),
            key_id=token["key_id"],
        )
        flash(
            f"Token {token['name']} ({token['key_id']}) revoked. The gateway accepts no more events with it.",
            "success",
        )
        return redirect(url_for("ingest_tokens.index_view"))

    @expose("/<int:token_id>/rotate", methods=("POST",))
    def rotate(self, token_id: int) -> ResponseReturnValue:
        """Make a second token of the same reporter and show it once."""
        name = _token(token_id)["name"]
        try:
            reason = request.form.get("proposal_reason", "")
            token, saved = request_rotation(
                current(Database), current(AuditKeys), current(TwoPersons), name, actor=actor(), reason=reason
            )
        except (TokenRefused, ReasonMissing, TooManyProposals) as refused:
            flash(sentence(str(refused)), "error")
            return redirect(url_for("ingest_tokens.show", token_id=token_id))
        return self.render(
            "console/ingest_tokens/made.html", token=token, token_name=name, proposal_id=saved.proposal_id
        )


def _token(token_id: int) -> Mapping[str, Any]:
    with reading(current(Database).reads) as connection:
        row = token_by_id(connection, token_id)
    if row is None:
        abort(404)
    return dict(row)


def _state(revoked_at: datetime | None, expires_at: datetime | None) -> Markup:
    if revoked_at is not None:
        return pill("revoked")
    if expires_at is not None and expires_at <= current(Database).clock():
        return pill("expired")
    return pill("valid", "good")


def _records() -> list[TokenRecord]:
    """Every token, read once a request."""
    if "token_records" not in g:
        g.token_records = list_tokens(current(Database), current(EnvironmentTokens))
    found: list[TokenRecord] = g.token_records
    return found


def _last() -> dict[str, Any]:
    """When something was last accepted from each token."""
    return {token.name: token.last_received_at for token in _records()}


def _ages() -> dict[str, str]:
    """By key ID ``new`` or ``old``, for valid tokens whose reporter has more than one."""
    now = current(Database).clock()
    valid = [
        token
        for token in _records()
        if token.key_id and token.revoked_at is None and (token.expires_at is None or token.expires_at > now)
    ]
    newest = {token.name: token.key_id for token in valid}  # the last of a name was added last
    several = {name for name, number in Counter(token.name for token in valid).items() if number > 1}
    return {
        str(token.key_id): "new" if newest[token.name] == token.key_id else "old"
        for token in valid
        if token.name in several
    }


def _key_id(key_id: str) -> Markup:
    """Under it whether it is the new or the old one of a reporter that has two."""
    age = _ages().get(key_id)
    shown = Markup('<span class="mono">{}</span>').format(key_id)
    return shown + " " + pill(age, "good" if age == "new" else "warn") if age else shown


def _chain(chain_id: int) -> str:
    name = chain_names().get(chain_id)
    return f"{name} ({chain_id})" if name else f"chain {chain_id}"
