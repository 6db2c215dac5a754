"""The pages of webhooks: subscriptions, their deliveries, and the actions on them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from wtforms import BooleanField, SelectField, SelectMultipleField, StringField, TextAreaField
from wtforms.fields.choices import SelectChoice
from wtforms.widgets import CheckboxInput

from app.audit.keys import AuditKeys
from app.console.shell.access import OPERATOR_BUTTON, Access, Audience
from app.console.shell.caller import actor, read_id
from app.console.shell.formats import Look, grouped, pill, sentence, unknown
from app.console.shell.forms.form import ConsoleForm
from app.console.shell.forms.numbers import written_time
from app.console.shell.row_pages import LINES, some_rows
from app.console.shell.views import ConsoleView
from app.db.database import Database
from app.http.application import current
from app.values.json_values import read_time
from app.values.wire_values import parse_transfer_id, watched_account
from app.webhooks.rules.addresses import MAX_URL, AllowedNetworks
from app.webhooks.rules.subscription import MAX_NAME, AlertKind, DeliveryState, State, subjects_of
from app.webhooks.rules.subscription import Audience as Watched
from app.webhooks.services.delivering import replay, retry, unsent_since
from app.webhooks.services.shown import (
    MOST_COUNTED,
    PAGE,
    Shown,
    delivery_log,
    list_subscriptions,
    show_subscription,
)
from app.webhooks.services.subscriptions import (
    NewSubscription,
    SubscriptionRefused,
    rotate,
    send_test,
    subscribe,
    switch,
)

AUDIENCES: Final = {
    Watched.SUBJECTS: "The accounts and transfers below",
    Watched.EVERYTHING: "Every transfer",
    Watched.ALERTS: "Alerts for operators",
}
ALERTS: Final = {
    AlertKind.STUCK: "Stuck transfers",
    AlertKind.ANOMALY: "Anomalies",
    AlertKind.CHAIN_QUIET: "Watched chains that are quiet, stopped or not read",
    AlertKind.AUDIT_BROKEN: "An audit log that does not verify",
    AlertKind.AUDIT_HEAD: "Each head of the audit log, to store elsewhere",
}


class NewWebhookForm(ConsoleForm):
    """Where to send, and which events."""

    name = StringField(
        "Name",
        description="Optional. For operators.",
        render_kw={"autocomplete": "off", "maxlength": str(MAX_NAME)},
    )
    url = StringField(
        "URL",
        description="The address that receives the events, such as https://example.org/hooks.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": str(MAX_URL), "inputmode": "url"},
    )
    audience = SelectField(
        "Events about", choices=[SelectChoice(kind.value, text) for kind, text in AUDIENCES.items()]
    )
    accounts = TextAreaField("Accounts", description="Senders or receivers, one a line.")
    transfers = TextAreaField("Transfers", description="Transfer ids, one a line.")
    alerts = SelectMultipleField(
        choices=[SelectChoice(kind.value, text) for kind, text in ALERTS.items()],
        option_widget=CheckboxInput(),
    )

    def wanted(self) -> NewSubscription:
        """The requested subscription, without fields that do not belong to the audience.

        :raises SubscriptionRefused: an account or a transfer id cannot be one.
        """
        audience = Watched(self.audience.data)
        subjects: list[str] = []
        if audience is Watched.SUBJECTS:
            try:
                accounts = [watched_account(line) for line in _lines(self.accounts.data)]
                subjects = subjects_of(accounts, map(parse_transfer_id, _lines(self.transfers.data)))
            except ValueError as error:
                raise SubscriptionRefused(f"an account or a transfer id {error}") from None
        return NewSubscription(
            url=self.url.data,
            audience=audience,
            name=(self.name.data or "").strip(),
            subjects=subjects,
            alerts=[AlertKind(kind) for kind in self.alerts.data] if audience is Watched.ALERTS else (),
        )


class TimeField(StringField):
    """A time that is typed in the reader's zone, like every time of the console; without scripts in UTC."""

    zoned = True

    def __init__(self, label: str, **kwargs: Any) -> None:
        shown = {"autocomplete": "off", "placeholder": "2027-01-31 18:00", "data-utc": ""}
        super().__init__(label, render_kw=shown, **kwargs)


class ReplayForm(ConsoleForm):
    """A span of time."""

    since = TimeField("From")
    until = TimeField("To", description="Empty: until now.")
    delivered_too = BooleanField("Also events that were delivered")

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """The first moment, and the first one after the span.

        :raises ValueError: one of them is no time, or they are in the wrong order.
        """
        since = written_time(self.since.data or "")
        if since is None:
            raise ValueError("enter a time from which to send again")
        until = written_time(self.until.data or "")
        first, last = read_time(since), now if until is None else read_time(until)
        if first >= last:
            raise ValueError("the first time must be before the last")
        return first, last


def _lines(text: str | None) -> list[str]:
    return [line.strip() for line in (text or "").splitlines() if line.strip()]


LOOKS: Final = {
    State.PAUSED: Look.PLAIN, State.OFF: Look.BAD,
    DeliveryState.WAITING: Look.BUSY, DeliveryState.DELIVERED: Look.GOOD, DeliveryState.FAILED: Look.BAD,
}  # fmt: skip
"""The look of each state's pill; that of a subscription in service depends on what it delivered."""


def state_pill(hook: Shown, unsent: datetime | None) -> Markup:
    """The state of a subscription. Whether one in service works is not known before it has delivered.

    :param unsent: since when no sender seems to run.
    """
    state = hook.state.value
    if hook.state is not State.ACTIVE:
        return pill(state, LOOKS[hook.state])
    if unsent is not None:
        return unknown(f"{state}, nothing is sent", unsent)
    if hook.last is None:
        return unknown(f"{state}, nothing delivered")
    failed = hook.last is DeliveryState.FAILED
    return pill(f"{state}, last delivery failed" if failed else state, LOOKS[hook.last])


_SENSITIVE_BUTTON: Final = Access(Audience.NOBODY, Audience.OPERATOR, sensitive=True)


class WebhooksView(ConsoleView):
    """Receivers of events and alerts."""

    section = "Records"
    access = {
        "index": Access(Audience.OPERATOR),
        "new": Access(Audience.OPERATOR, Audience.OPERATOR, sensitive=True),
        "show": Access(Audience.OPERATOR),
        "pause": OPERATOR_BUTTON,
        "resume": OPERATOR_BUTTON,
        "test": OPERATOR_BUTTON,
        "replay": OPERATOR_BUTTON,
        "retry": OPERATOR_BUTTON,
        "rotate": _SENSITIVE_BUTTON,
        "remove": _SENSITIVE_BUTTON,
    }

    @expose("/")
    def index(self) -> str:
        found = list_subscriptions(current(Database))
        return self.render(
            "console/webhooks/index.html",
            found=some_rows(found, LINES),
            state_pill=state_pill,
            audiences=AUDIENCES,
            most=MOST_COUNTED,
            unsent=unsent_since(current(Database)),
        )

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        form = NewWebhookForm()
        if form.validate_on_submit():
            try:
                made = subscribe(*_parts(), current(AllowedNetworks), form.wanted(), actor=actor())
            except SubscriptionRefused as refused:
                errors = form[refused.field].errors if refused.field in form else form.form_errors
                errors.append(sentence(str(refused)))
            else:
                return self.render("console/webhooks/made.html", made=made, rotated=False)
        return self.render("console/webhooks/new.html", form=form)

    @expose("/<public_id>")
    def show(self, public_id: str) -> str:
        before = request.args.get("before", "")
        state = request.args.get("state", "")
        hook = show_subscription(current(Database), public_id)
        page = delivery_log(
            current(Database),
            public_id,
            read_id(before),
            DeliveryState(state) if state in set(DeliveryState) else None,
        )
        return self.render(
            "console/webhooks/show.html",
            hook=hook,
            page=page,
            older=page[-1].id if len(page) == PAGE else None,
            state=state,
            states=list(DeliveryState),
            looks=LOOKS,
            state_pill=state_pill,
            audiences=AUDIENCES,
            alerts=ALERTS,
            most=MOST_COUNTED,
            form=ReplayForm(formdata=None),
            unsent=unsent_since(current(Database)),
        )

    @expose("/<public_id>/pause", methods=("POST",))
    def pause(self, public_id: str) -> ResponseReturnValue:
        reason = f"paused by {actor().name}"
        switch(*_parts(), public_id, State.PAUSED, actor=actor(), reason=reason)
        return _done(public_id, "Paused. The gateway stores events meanwhile, and sends them later.")

    @expose("/<public_id>/resume", methods=("POST",))
    def resume(self, public_id: str) -> ResponseReturnValue:
        switch(*_parts(), public_id, State.ACTIVE, actor=actor())
        return _done(public_id, "Active again. The gateway now sends the events that wait.")

    @expose("/<public_id>/test", methods=("POST",))
    def test(self, public_id: str) -> ResponseReturnValue:
        send_test(current(Database), public_id)
        return _done(
            public_id,
            "The gateway wrote a test event. Its outcome appears below when the sender has sent it.",
        )

    @expose("/<public_id>/replay", methods=("POST",))
    def replay(self, public_id: str) -> ResponseReturnValue:
        form = ReplayForm()
        try:
            since, until = form.span(current(Database).clock())
            repeat = form.delivered_too.data
            count = replay(*_parts(), public_id, since, until, actor=actor(), delivered_too=repeat)
        except ValueError as error:
            return _done(public_id, sentence(str(error)), "error")
        many = f"{grouped(count)} {'delivery is' if count == 1 else 'deliveries are'}"
        return _done(public_id, f"{many} sent again.")

    @expose("/<public_id>/retry", methods=("POST",))
    @expose("/<public_id>/retry/<int:delivery_id>", methods=("POST",))
    def retry(self, public_id: str, delivery_id: int | None = None) -> ResponseReturnValue:
        """Try one delivery that waits for its next attempt, or all of them, now."""
        count = retry(*_parts(), public_id, delivery_id, actor=actor())
        if not count:
            words = "Nothing to send again: no delivery waits longer than a minute for its next attempt."
            return _done(public_id, words, "warning")
        what = "It is" if count == 1 else f"{grouped(count)} deliveries are"
        return _done(public_id, f"{what} tried now. Refresh the page to see the outcome.")

    @expose("/<public_id>/rotate", methods=("POST",))
    def rotate(self, public_id: str) -> ResponseReturnValue:
        made = rotate(*_parts(), public_id, actor=actor())
        return self.render("console/webhooks/made.html", made=made, rotated=True)

    @expose("/<public_id>/remove", methods=("POST",))
    def remove(self, public_id: str) -> ResponseReturnValue:
        switch(*_parts(), public_id, State.REMOVED, actor=actor())
        flash("Webhook removed. The gateway sends no more events to it.", "success")
        return redirect(url_for("webhooks.index"))


def _parts() -> tuple[Database, AuditKeys]:
    return current(Database), current(AuditKeys)


def _done(public_id: str, words: str, category: str = "success") -> ResponseReturnValue:
    flash(words, category)
    return redirect(url_for("webhooks.show", public_id=public_id))
