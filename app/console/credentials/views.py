"""The pages of API keys, for requests of integrators, and of ingest tokens, for reports of reporters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from sqlalchemy import Row
from wtforms import BooleanField, SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import NumberRange, Optional
from wtforms.widgets import CheckboxInput

from app.accounts.rules.two_persons import API_KEYS, INGEST_TOKENS, TwoPersons
from app.accounts.services.planned_changes import same_name
from app.accounts.services.proposals import ReasonMissing, TooManyProposals
from app.audit.keys import AuditKeys
from app.console.network.names import chain_choices, chain_names
from app.console.proposals import MayWaitForm
from app.console.shell.access import ADMIN_BUTTON, ADMINISTER, Access, Audience
from app.console.shell.caller import actor, read_id
from app.console.shell.formats import pill, sentence, when
from app.console.shell.forms.numbers import CountField
from app.console.shell.lists import ListView, Present
from app.console.shell.views import once_per_request, read
from app.credentials.models import ApiKey, Credential, IngestToken
from app.credentials.queries import credential_by_id, last_days, uses_of
from app.credentials.rules.api_key import Scope
from app.credentials.rules.credential import CredentialState
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import (
    CredentialRefused,
    TokenRecord,
    list_tokens,
    revoke_key,
    revoke_token,
    state_of,
)
from app.credentials.services.issuing import TokenTerms, Wanted, issue, new_key, new_token, second_token
from app.db.database import Database
from app.http.application import current
from app.transfers.rules.events.event_types import REPORTED
from app.values.times import day_of, day_start

SCOPE_WORDS: Final = {
    Scope.READ: "query the public operations, with a limit of its own",
    Scope.WEBHOOKS: "subscribe to accounts and transfers",
    Scope.ALL_WEBHOOKS: "subscribe to every transfer",
}

MAX_DAYS: Final = 3650
"""The longest that a token made in the console is valid: ten years."""


def _name(description: str) -> StringField:
    return StringField(
        "Name",
        description=f"{description} 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )


class NewKeyForm(MayWaitForm):
    """The name of a new key, what its bearer may do, and its limit."""

    guarded_section = API_KEYS
    name = _name("The integrator who gets the key.")
    # The service checks what is chosen and typed, and words the errors.
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

    def wanted(self, _now: datetime) -> Wanted:
        """The key in the filled form.

        :raises CredentialRefused: such a key is not possible.
        """
        return new_key(self.name.data, self.scopes.data, self.rate_limit.data)


class NewTokenForm(MayWaitForm):
    """The name of a new token, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    guarded_section = INGEST_TOKENS
    name = _name("Shown on every event.")
    every_type = BooleanField("All event types, including types added later")
    every_chain = BooleanField("All chains, including chains added later")
    # The service checks what is chosen, and words the errors.
    types = SelectMultipleField(
        choices=[SelectChoice(name) for name in REPORTED],
        validate_choice=False,
        option_widget=CheckboxInput(),
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
        """Require a choice of what the token allows: nothing ticked may be a mistake, and would allow all."""
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

    def wanted(self, now: datetime) -> Wanted:
        """The token in the filled form.

        :raises CredentialRefused: such a token is not possible.
        """
        days, chains = self.days.data, [read_id(chain) for chain in self.chains.data]
        picked = [chain for chain in chains if chain is not None]
        if picked != chains:
            raise CredentialRefused("Choose chains from the list: reload the page and try again.")
        terms = TokenTerms(
            expires_at=None if days is None else now + timedelta(days=days),
            quota_events=self.quota_events.data,
            quota_seconds=self.quota_seconds.data,
        )
        return new_token(self.name.data, self.types.data, picked, terms)


DAYS: Final = 30
"""Days of a key's use that are shown."""


_REFUSALS: Final = (CredentialRefused, ReasonMissing, TooManyProposals)


def _state(row: Any) -> Markup:
    state = state_of(row, current(Database).clock())
    return pill(state.value, "good") if state is CredentialState.VALID else pill(state.value)


@once_per_request
def _last_days() -> Mapping[int, int]:
    return read(last_days)


def _day(day: int | None) -> str:
    """A day in UTC."""
    return "never" if day is None else f"{day_start(day):%Y-%m-%d}"


@once_per_request
def _records() -> list[TokenRecord]:
    return list_tokens(current(Database), current(EnvironmentTokens))


@once_per_request
def _last() -> dict[str, Any]:
    """When something was last accepted from each token."""
    return {token.name: token.last_received_at for token in _records()}


@once_per_request
def _ages() -> dict[str, str]:
    """``new`` or ``old`` by key ID, for valid tokens whose reporter has several."""
    now = current(Database).clock()
    valid = [token for token in _records() if token.key_id and state_of(token, now) is CredentialState.VALID]
    newest = {token.name: token.key_id for token in valid}  # the last of a name was added last
    several = {name for name, number in Counter(token.name for token in valid).items() if number > 1}
    return {
        str(token.key_id): "new" if newest[token.name] == token.key_id else "old"
        for token in valid
        if token.name in several
    }


def _key_id(key_id: str) -> Markup:
    """The key ID, and below it whether it is the new or the old one of a reporter that has two."""
    age = _ages().get(key_id)
    shown = Markup('<span class="mono">{}</span>').format(key_id)
    return shown + " " + pill(age, "good" if age == "new" else "warn") if age else shown


def _chain(chain_id: int) -> str:
    return dict(chain_choices()).get(str(chain_id), f"chain {chain_id}")


class CredentialsView(ListView):
    """Keys or tokens: made, shown once, revoked."""

    section = "People"
    model_class: ClassVar[type[Credential]]
    confirmed_by: ClassVar[str]
    """The column whose value has to be typed before one is revoked."""
    confirm_words: ClassVar[str]
    revoked_words: ClassVar[str]
    column_labels = {
        "key_id": "Key ID",
        "rate_limit": "Limit",
        "last_used": "Last used",
        "last_received_at": "Last event",
        "expires_at": "Expires",
        "created_at": "Created",
    }
    column_sortable_list = ("name", "created_at")
    column_searchable_list = ("name", "key_id")
    column_default_sort = "name"

    def new_form(self) -> NewKeyForm | NewTokenForm:
        raise NotImplementedError

    def end(self, row: Row[*tuple[Any, ...]]) -> None:
        raise NotImplementedError

    def row(self, row_id: int) -> Row[*tuple[Any, ...]]:
        """The row with this id. Without one the answer is 404."""
        row = read(credential_by_id, self.model_class, row_id)
        if row is None:
            abort(404)
        return row

    def issue(self, wanted: Wanted, reason: str) -> str:
        parts = current(Database), current(AuditKeys), current(TwoPersons)
        issued = issue(*parts, wanted, actor=actor(), reason=reason)
        name, proposal_id = wanted.columns["name"], issued.saved.proposal_id
        template = f"console/{self.endpoint}/made.html"
        return self.render(template, text=issued.text, name=name, proposal_id=proposal_id)

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        form = self.new_form()
        if form.validate_on_submit():
            try:
                return self.issue(form.wanted(current(Database).clock()), form.why)
            except _REFUSALS as refused:
                form.form_errors.append(sentence(str(refused)))
        return self.render(f"console/{self.endpoint}/new.html", form=form)

    @expose("/<int:row_id>/revoke", methods=("POST",))
    def revoke(self, row_id: int) -> ResponseReturnValue:
        row = self.row(row_id)
        if not same_name(request.form.get("typed", ""), getattr(row, self.confirmed_by)):
            flash(f"{self.confirm_words.format(row=row)} Nothing was changed.", "error")
            return redirect(url_for(".show", row_id=row_id))
        self.end(row)
        flash(self.revoked_words.format(row=row), "success")
        return redirect(url_for(".index_view"))


class ApiKeysView(CredentialsView):
    """Keys: made, shown once, revoked, and how much they are used."""

    model_class = ApiKey
    title = "API keys"
    explanation = "A key gives an integrator a limit and permissions. The console shows each key once."
    nothing = "No API keys yet. The public operations work without one."
    row_endpoint = "api_keys.show"
    audit_subject = "api key {name}"
    new_endpoint = "api_keys.new"
    new_label = "Add key"
    confirmed_by = "name"
    confirm_words = "Type “{row.name}” to revoke the key."
    revoked_words = "Key {row.name} revoked. The gateway refuses requests with it."
    access = {
        "index_view": Access(Audience.OPERATOR),
        "new": ADMINISTER,
        "show": Access(Audience.OPERATOR),
        "revoke": ADMIN_BUTTON,
    }
    column_list = ("name", "key_id", "state", "scopes", "rate_limit", "last_used", "created_at")
    column_filters = (Present(ApiKey.revoked_at, "State", "revoked", "valid"),)
    column_formatters = {
        "state": lambda v, c, m, p: _state(m),
        "scopes": lambda v, c, m, p: ", ".join(m.scopes),
        "rate_limit": lambda v, c, m, p: m.rate_limit or "none",
        "last_used": lambda v, c, m, p: _day(_last_days().get(m.id)),
    }

    def new_form(self) -> NewKeyForm:
        return NewKeyForm()

    def end(self, row: Row[*tuple[Any, ...]]) -> None:
        revoke_key(current(Database), current(AuditKeys), row.name, actor=actor())

    @expose("/<int:row_id>")
    def show(self, row_id: int) -> str:
        key, today = self.row(row_id), day_of(current(Database).clock())
        uses = read(uses_of, row_id, today - DAYS + 1)
        return self.render(
            "console/api_keys/show.html",
            key=key,
            state=_state(key),
            scopes=[(scope, SCOPE_WORDS[Scope(scope)]) for scope in key.scopes],
            uses=[(_day(row.day), row.requests, row.limited) for row in uses],
            days=DAYS,
        )


class IngestTokensView(CredentialsView):
    """Reporters' tokens: made, shown once, revoked."""

    model_class = IngestToken
    title = "Ingest tokens"
    explanation = (
        "A token lets a reporter send events of some types and chains. The console shows each token once."
    )
    nothing = "No ingest tokens yet. A reporter needs one to send events over HTTP."
    row_endpoint = "ingest_tokens.show"
    audit_subject = "ingest token {name}"
    new_endpoint = "ingest_tokens.new"
    new_label = "Add token"
    list_template = "console/ingest_tokens/list.html"
    confirmed_by = "key_id"  # another token may have the same name
    confirm_words = "Type the key ID {row.key_id} to revoke the token."
    revoked_words = "Token {row.name} ({row.key_id}) revoked. The gateway accepts no more events with it."
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
    column_filters = (Present(IngestToken.revoked_at, "State", "revoked", "valid"),)
    column_formatters = {
        "key_id": lambda v, c, m, p: _key_id(m.key_id),
        "state": lambda v, c, m, p: _state(m),
        "types": lambda v, c, m, p: "all" if m.types is None else ", ".join(m.types),
        "chains": lambda v, c, m, p: "all" if m.chains is None else ", ".join(map(_chain, m.chains)),
        "last_received_at": lambda v, c, m, p: when(_last().get(m.name)),
        "expires_at": lambda v, c, m, p: when(m.expires_at) if m.expires_at else "never",
    }

    def of_environment(self) -> list[str]:
        return [token.name for token in current(EnvironmentTokens)]

    def new_form(self) -> NewTokenForm:
        return NewTokenForm(chain_names())

    def end(self, row: Row[*tuple[Any, ...]]) -> None:
        parts = current(Database), current(AuditKeys), current(EnvironmentTokens)
        revoke_token(*parts, row.name, actor=actor(), key_id=row.key_id)

    @expose("/<int:row_id>")
    def show(self, row_id: int) -> str:
        token = self.row(row_id)
        return self.render(
            "console/ingest_tokens/show.html",
            token=token,
            state=_state(token),
            last=_last().get(token.name),
            age=_ages().get(token.key_id, ""),
            waits=current(TwoPersons).guards(INGEST_TOKENS),
            chains=None if token.chains is None else [_chain(chain) for chain in token.chains],
        )

    @expose("/<int:row_id>/rotate", methods=("POST",))
    def rotate(self, row_id: int) -> ResponseReturnValue:
        name, reason = self.row(row_id).name, request.form.get("change_reason", "")
        try:
            return self.issue(second_token(name), reason)
        except _REFUSALS as refused:
            flash(sentence(str(refused)), "error")
            return redirect(url_for(".show", row_id=row_id))
