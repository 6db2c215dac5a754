"""The forms of webhooks: a new subscription, and a span of time to send again."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from wtforms import BooleanField, SelectField, SelectMultipleField, StringField, TextAreaField
from wtforms.fields.choices import SelectChoice
from wtforms.widgets import CheckboxInput

from app.console.shell.forms.form import ConsoleForm
from app.console.shell.forms.numbers import written_time
from app.values.json_values import read_time
from app.values.wire_values import parse_transfer_id, watched_account
from app.webhooks.rules.addresses import MAX_URL
from app.webhooks.rules.subscription import MAX_NAME, AlertKind, Audience, subjects_of
from app.webhooks.services.subscriptions import NewSubscription, SubscriptionRefused

AUDIENCES: Final = {
    Audience.SUBJECTS: "The accounts and transfers below",
    Audience.EVERYTHING: "Every transfer",
    Audience.ALERTS: "Alerts for operators",
}
ALERTS: Final = {
    AlertKind.STUCK: "Stuck transfers",
    AlertKind.ANOMALY: "Anomalies",
    AlertKind.CHAIN_QUIET: "Watched chains that are quiet, stopped or not read",
    AlertKind.AUDIT_BROKEN: "An audit log that does not verify",
    AlertKind.AUDIT_HEAD: "Each head of the audit log, to be kept elsewhere",
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
        description="Where events are posted, such as https://example.org/hooks.",
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
        audience = Audience(self.audience.data)
        subjects: list[str] = []
        if audience is Audience.SUBJECTS:
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
            alerts=[AlertKind(kind) for kind in self.alerts.data] if audience is Audience.ALERTS else (),
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
    delivered_too = BooleanField("Also what was delivered")

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
