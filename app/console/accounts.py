"""The pages of the console's accounts, and of the user's own."""

from __future__ import annotations

from typing import Any, Final

from flask import abort, flash, g, redirect, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user
from flask_security.utils import logout_user
from markupsafe import Markup
from wtforms import BooleanField, EmailField, HiddenField, PasswordField, SelectField
from wtforms.fields.choices import SelectChoice

from app.accounts.models import Operator
from app.accounts.rules.roles import Role
from app.accounts.rules.sign_in import MIN_PASSWORD_LENGTH, normal_email
from app.accounts.rules.two_persons import OPERATORS, TwoPersons
from app.accounts.services.account_changes import (
    AccountAction,
    AccountRequest,
    request_account,
    request_optional_factor,
)
from app.accounts.services.accounts import (
    DECIDED_BY_OTHERS,
    Account,
    AccountRefused,
    checked_account,
    documented,
    find_account,
    new_uniquifier,
    update_account,
)
from app.accounts.services.factors import (
    accounts_that_have_passkeys,
    demand_second_factor,
    everyone_needs_second_factor,
    list_passkeys,
    make_recovery_codes,
    recovery_codes_left,
)
from app.accounts.services.passwords import generate_password, hash_password
from app.accounts.services.proposals import ReasonMissing, TooManyProposals
from app.accounts.services.sessions import end_own_session, open_sessions
from app.audit.keys import AuditKeys
from app.audit.services import Conflict, Saved, fingerprint
from app.console.proposals import MayWaitForm
from app.console.shell.access import ADMIN_BUTTON, ADMINISTER, OWN, OWN_SENSITIVE, READ, Access, Audience
from app.console.shell.caller import actor
from app.console.shell.formats import pill, sentence, when
from app.console.shell.lists import Choice, Flag, ListView
from app.console.shell.views import ConsoleView, after_saving
from app.console.sign_in.datastore import SECRET
from app.console.sign_in.passkey_pages import NewPasskeyForm
from app.db.database import Database
from app.http.application import current

_ROLES = [
    SelectChoice(Role.VIEWER.value, "Viewer: reads everything, changes nothing"),
    SelectChoice(Role.OPERATOR.value, "Operator: also edits the network and blocks"),
    SelectChoice(Role.ADMIN.value, "Admin: also manages accounts, ingest tokens and API keys"),
]


class NewOperatorForm(MayWaitForm):
    """A new account."""

    guarded_section = OPERATORS

    email = EmailField("Email", render_kw={"autocomplete": "off", "required": True})
    password = PasswordField(
        "First password",
        description=f"At least {MIN_PASSWORD_LENGTH} characters. The owner changes it at the first sign-in.",
        render_kw={"autocomplete": "new-password", "required": True},
    )
    role = SelectField("Role", choices=_ROLES)
    second_factor_required = BooleanField(
        "Needs a second factor", description="It is set up at the first sign-in, with an authenticator app."
    )


class OperatorForm(MayWaitForm):
    """An administrator's settings of an account."""

    guarded_section = OPERATORS

    seen = HiddenField()
    role = SelectField("Role", choices=_ROLES)
    active = BooleanField(
        "May sign in", description="When turned off, every session of the account ends at once."
    )
    second_factor_required = BooleanField(
        "Needs a second factor", description="It is set up at the next sign-in, with an authenticator app."
    )


class AccountView(ConsoleView):
    """What users may see and change of their own account."""

    section = "Account"  # reached from the foot of the menu
    access = {
        "index": READ,
        "recovery_codes": OWN_SENSITIVE,
        "sign_out_everywhere": Access(Audience.NOBODY, OWN.change),
        "sign_out_one": Access(Audience.NOBODY, OWN.change),
        "kept": READ,
    }

    def __init__(self) -> None:
        super().__init__(name="Your account", endpoint="account")

    @expose("/")
    def index(self) -> str:
        database = current(Database)
        account_id = current_user.id
        return self.render(
            "console/account/index.html",
            sessions=open_sessions(database, account_id, session[SECRET]),
            passkeys=list_passkeys(database, account_id),
            codes_left=recovery_codes_left(database, account_id),
            passkey_form=NewPasskeyForm(formdata=None),
        )

    @expose("/recovery-codes", methods=("GET", "POST"))
    def recovery_codes(self) -> ResponseReturnValue:
        """How many recovery codes are left; new ones, shown this once."""
        database, account_id = current(Database), current_user.id
        has_factor = bool(current_user.tf_totp_secret or list_passkeys(database, account_id))
        if request.method == "POST" and has_factor:
            codes = make_recovery_codes(database, current(AuditKeys), account_id, actor=actor())
            return self.render("console/account/recovery_codes_made.html", codes=codes)
        left = recovery_codes_left(database, account_id)
        return self.render("console/account/recovery_codes.html", left=left, has_factor=has_factor)

    @expose("/kept")
    def kept(self) -> str:
        """The page from which the browser sends a stored form again, after the session ended."""
        return self.render("console/account/kept.html")

    @expose("/sessions/<int:session_id>/sign-out", methods=("POST",))
    def sign_out_one(self, session_id: int) -> ResponseReturnValue:
        if end_own_session(current(Database), current(AuditKeys), current_user.id, session_id, actor()):
            flash("That browser is signed out.", "success")
        else:
            flash("That session had already ended.", "warning")
        return redirect(url_for("account.index"))

    @expose("/sign-out-everywhere", methods=("POST",))
    def sign_out_everywhere(self) -> ResponseReturnValue:
        """End every session of the account, this one included."""
        changes = {"fs_uniquifier": new_uniquifier()}
        update_account(*_parts(), current_user.id, changes, actor=actor())
        logout_user()
        session.clear()
        flash("You are signed out in every browser.", "success")
        return redirect(url_for("security.login"))


_AFTER_RESET: Final = (
    "Codes, passkeys and recovery codes of the account stop working, and it is signed out everywhere. "
    "Sign-in then needs only the password, unless a second factor is required."
)
_AFTER_NEW: Final = (
    "The old password stops working, and the account is signed out everywhere. The new one is shown once and "
    "has to be changed at the next sign-in."
)


class OperatorsView(ListView):
    """Accounts of the console."""

    section = "People"
    model_class = Operator
    title = "Operators"
    explanation = "Accounts of the console. They are never deleted, because the audit log names them."
    row_endpoint = "operators.edit"
    audit_subject = "operator {email}"
    new_endpoint = "operators.new"
    new_label = "New account"
    list_template = "console/operators.html"
    access = {
        "index_view": Access(Audience.ADMIN),
        "new": ADMINISTER,
        "edit": ADMINISTER,
        "end_sessions": ADMIN_BUTTON,
        "reset_second_factor": ADMINISTER,
        "new_password": ADMINISTER,
        "demand_second_factor": ADMIN_BUTTON,
    }
    column_list = ("email", "role", "active", "second_factor", "signed_in_at", "created_at")
    column_labels = {
        "active": "State",
        "signed_in_at": "Last sign-in",
        "created_at": "Created",
    }
    column_sortable_list = ("email", "role", "active", "signed_in_at", "created_at")
    column_searchable_list = ("email",)
    column_default_sort = "email"
    column_filters = (
        Choice(Operator.role, "Role", [(role.value, role.value) for role in Role]),
        Flag(Operator.active, "State", "active", "off"),
    )
    column_formatters = {
        "active": lambda v, c, m, p: pill("active", "good") if m.active else pill("off", "plain"),
        "second_factor": lambda v, c, m, p: _second_factor(m),
        "signed_in_at": lambda v, c, m, p: _last_sign_in(m),
        "created_at": lambda v, c, m, p: when(m.created_at),
    }

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        form = NewOperatorForm()
        if form.validate_on_submit():
            try:
                email, hashed = checked_account(form.email.data or "", form.password.data or "")
            except AccountRefused as refused:
                wrong = form.email if normal_email(form.email.data or "") is None else form.password
                wrong.errors = [sentence(str(refused))]
            else:
                values = {
                    "role": form.role.data,
                    "second_factor_required": form.second_factor_required.data,
                }
                requested = AccountRequest(AccountAction.CREATE, email, values, hashed)
                done = f"Account {email} created with the role {form.role.data}."
                if (saved := _request(requested, form.why, done)) is not None:
                    return _after(saved, url_for("operators.index_view"))
        submit = "Propose account" if form.waits else "Create account"
        return self.render("console/form.html", form=form, title="New account", submit=submit)

    @expose("/<int:account_id>", methods=("GET", "POST"))
    def edit(self, account_id: int) -> ResponseReturnValue:
        account = _account(account_id)
        form = OperatorForm(obj=account)
        if request.method != "POST":
            form.role.data = account.role.value
            form.seen.data = fingerprint(documented(account))
        if form.validate_on_submit():
            values = {name: form.data[name] for name in sorted(DECIDED_BY_OTHERS)}
            requested = AccountRequest(
                AccountAction.CHANGE, account.email, values, shown=form.seen.data or None
            )
            try:
                saved = _request(requested, form.why, f"Account {account.email} saved.")
            except Conflict as refused:
                flash(sentence(str(refused)), "error")
                return redirect(url_for("operators.edit", account_id=account_id))
            if saved is not None:
                return _after(saved, url_for("operators.index_view"))
        has_passkey = account_id in _with_passkey()
        return self.render("console/operator.html", form=form, account=account, has_passkey=has_passkey)

    @expose("/<int:account_id>/end-sessions", methods=("POST",))
    def end_sessions(self, account_id: int) -> ResponseReturnValue:
        account = _account(account_id)
        update_account(*_parts(), account.id, {"fs_uniquifier": new_uniquifier()}, actor=actor())
        flash(f"{account.email} is signed out everywhere.", "success")
        return redirect(url_for("operators.edit", account_id=account_id))

    @expose("/<int:account_id>/reset-second-factor", methods=("GET", "POST"))
    def reset_second_factor(self, account_id: int) -> ResponseReturnValue:
        """Remove a second factor that its owner has lost, after a page that says what follows."""
        account = _account(account_id)
        if request.method != "POST":
            return self._confirm(account, "Reset the second factor", _AFTER_RESET)
        requested = AccountRequest(AccountAction.RESET_SECOND_FACTOR, account.email)
        done = f"The second factor of {account.email} was reset, and the account is signed out."
        saved = _request(requested, request.form.get("change_reason", ""), done)
        if saved is None:
            return redirect(url_for("operators.reset_second_factor", account_id=account_id))
        return _after(saved, url_for("operators.edit", account_id=account_id))

    @expose("/<int:account_id>/new-password", methods=("GET", "POST"))
    def new_password(self, account_id: int) -> ResponseReturnValue:
        """Give an account a new password, shown once, after a page that says what follows."""
        account = _account(account_id)
        if request.method != "POST":
            return self._confirm(account, "Create a new password", _AFTER_NEW)
        password = generate_password()
        requested = AccountRequest(AccountAction.NEW_PASSWORD, account.email, hashed=hash_password(password))
        saved = _request(requested, request.form.get("change_reason", ""))
        if saved is None:
            return redirect(url_for("operators.new_password", account_id=account_id))
        return self.render(
            "console/account/new_password.html",
            account=account,
            password=password,
            proposal_id=saved.proposal_id,
        )

    def _confirm(self, account: Account, what: str, follows: str) -> str:
        """The page that asks for confirmation before a change of an account that cannot be undone."""
        return self.render("console/operator_confirm.html", account=account, what=what, follows=follows)

    @property
    def everyone_needs_factor(self) -> bool:
        return everyone_needs_second_factor(current(Database))

    @property
    def changes_wait(self) -> bool:
        return current(TwoPersons).guards(OPERATORS)

    @expose("/second-factor", methods=("POST",))
    def demand_second_factor(self) -> ResponseReturnValue:
        """Demand a second factor of every account, or no longer."""
        page = url_for("operators.index_view")
        try:
            if request.form.get("demanded") == "1":
                demand_second_factor(current(Database), current(AuditKeys), current_user.id, actor=actor())
                flash("Every account now needs a second factor.", "success")
                return redirect(page)
            reason = request.form.get("change_reason", "")
            saved = request_optional_factor(*_parts(), actor=actor(), reason=reason)
        except (AccountRefused, ReasonMissing, TooManyProposals) as refused:
            flash(sentence(str(refused)), "error")
            return redirect(page)
        if saved.proposal_id is None:
            flash("A second factor is optional again.", "success")
        return _after(saved, page)


def _parts() -> tuple[Database, AuditKeys, TwoPersons]:
    return current(Database), current(AuditKeys), current(TwoPersons)


def _account(account_id: int) -> Account:
    account = find_account(current(Database), account_id=account_id)
    if account is None:
        abort(404)
    return account


def _request(requested: AccountRequest, reason: str, done: str = "") -> Saved | None:
    """Make or propose the change; None where it is refused, which is shown as a message.

    :param done: the message where it was made at once.
    """
    try:
        saved = request_account(*_parts(), requested, actor=actor(), reason=reason)
    except (AccountRefused, ReasonMissing, TooManyProposals) as refused:
        flash(sentence(str(refused)), "error")
        return None
    if done and saved.proposal_id is None:
        flash(done, "success")
    return saved


def _after(saved: Saved, url: str) -> ResponseReturnValue:
    return redirect(url) if saved.proposal_id is None else after_saving(saved, url)


def _with_passkey() -> frozenset[int]:
    """The accounts that have a passkey, read once a request."""
    if "with_passkey" not in g:
        g.with_passkey = accounts_that_have_passkeys(current(Database))
    return g.with_passkey


def _last_sign_in(operator: Operator) -> Markup:
    at, address = when(operator.signed_in_at), operator.signed_in_from
    return at + Markup('<small class="smallest">{}</small>').format(address) if address else at


def _second_factor(operator: Operator) -> Any:
    if operator.tf_totp_secret or operator.id in _with_passkey():
        return pill("set up", "good")
    return pill("at next sign-in", "warn") if operator.second_factor_required else pill("none", "plain")
