"""The pages of the console's accounts."""

from __future__ import annotations

from typing import Any

from flask import abort, flash, g, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from flask_login import current_user

from app.admin.access import ADMIN_BUTTON, ADMINISTER, Access, Audience
from app.admin.formats import pill, when
from app.admin.forms.operators import NewOperatorForm, OperatorForm
from app.admin.requests import actor
from app.admin.views.filters import Choice, Flag
from app.admin.views.lists import ListView
from app.domain.operators import Role
from app.models.operators import Operator
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import (
    Account,
    AccountRefused,
    create_account,
    find_account,
    new_uniquifier,
    reset_password,
    update_account,
)
from app.services.operators.factors import (
    accounts_that_have_passkeys,
    demand_second_factor,
    forget_second_factors,
    second_factor_demanded,
)


class OperatorsView(ListView):
    """Accounts of the console."""

    section = "People"
    model_class = Operator
    title = "Operators"
    explanation = "Who may sign in here, and as what. Accounts are never deleted, since the audit names them."
    row_endpoint = "operators.edit"
    new_endpoint = "operators.new"
    new_label = "New operator"
    list_template = "console/operators.html"
    access = {
        "index_view": Access(Audience.ADMIN),
        "export": Access(Audience.ADMIN),
        "new": ADMINISTER,
        "edit": ADMINISTER,
        "end_sessions": ADMIN_BUTTON,
        "reset_second_factor": ADMIN_BUTTON,
        "new_password": ADMIN_BUTTON,
        "demand_second_factor": ADMIN_BUTTON,
    }
    column_list = ("email", "role", "active", "second_factor", "signed_in_at", "signed_in_from", "created_at")
    column_export_list = ("email", "role", "active", "second_factor_required", "signed_in_at", "created_at")
    column_labels = {
        "active": "State",
        "signed_in_at": "Last sign-in",
        "signed_in_from": "From",
        "created_at": "Made",
    }
    column_sortable_list = ("email", "role", "active", "signed_in_at", "created_at")
    column_searchable_list = ("email",)
    column_default_sort = "email"
    column_filters = (
        Choice(Operator.role, "Role", [(role.value, role.value) for role in Role]),
        Flag(Operator.active, "State", "may sign in", "switched off"),
    )
    column_formatters = {
        "active": lambda v, c, m, p: pill("active", "good") if m.active else pill("off", "plain"),
        "second_factor": lambda v, c, m, p: _second_factor(m),
        "signed_in_at": lambda v, c, m, p: when(m.signed_in_at),
        "created_at": lambda v, c, m, p: when(m.created_at),
    }

    @expose("/new", methods=("GET", "POST"))
    def new(self) -> ResponseReturnValue:
        """Make an account."""
        form = NewOperatorForm()
        if form.validate_on_submit():
            try:
                made = create_account(
                    current_gateway(),
                    form.email.data or "",
                    form.password.data or "",
                    Role(form.role.data),
                    actor=actor(),
                    passed_on=True,
                )
            except AccountRefused as refused:
                flash(str(refused), "error")
            else:
                flash(f"{made.email} may sign in now, as {made.role}.", "success")
                return redirect(url_for("operators.index_view"))
        return self.render("console/form.html", form=form, title="New operator", submit="Make the account")

    @expose("/<int:account_id>", methods=("GET", "POST"))
    def edit(self, account_id: int) -> ResponseReturnValue:
        """Change what an account may do."""
        account = _account(account_id)
        form = OperatorForm(obj=account)
        if request.method == "GET":
            form.role.data = account.role.value
        if form.validate_on_submit() and _change(account, form.data):
            flash(f"{account.email} is changed.", "success")
            return redirect(url_for("operators.index_view"))
        has_passkey = account_id in _with_passkey()
        return self.render("console/operator.html", form=form, account=account, has_passkey=has_passkey)

    @expose("/<int:account_id>/end-sessions", methods=("POST",))
    def end_sessions(self, account_id: int) -> ResponseReturnValue:
        """Sign an account out everywhere."""
        account = _account(account_id)
        if _change(account, {"fs_uniquifier": new_uniquifier()}):
            flash(f"{account.email} is signed out everywhere.", "success")
        return redirect(url_for("operators.edit", account_id=account_id))

    @expose("/<int:account_id>/reset-second-factor", methods=("POST",))
    def reset_second_factor(self, account_id: int) -> ResponseReturnValue:
        """Remove a second factor that its owner has lost."""
        account = forget_second_factors(current_gateway(), _account(account_id).id, actor=actor())
        flash(f"{account.email} has no second factor now and is signed out.", "success")
        return redirect(url_for("operators.edit", account_id=account_id))

    @expose("/<int:account_id>/new-password", methods=("POST",))
    def new_password(self, account_id: int) -> ResponseReturnValue:
        """Give an account a new password, shown once."""
        account = _account(account_id)
        password = reset_password(current_gateway(), account_id, actor=actor())
        return self.render("console/account/new_password.html", account=account, password=password)

    @property
    def second_factor_is_demanded(self) -> bool:
        """Whether every account must have a second factor."""
        return second_factor_demanded(current_gateway())

    @expose("/second-factor", methods=("POST",))
    def demand_second_factor(self) -> ResponseReturnValue:
        """Demand a second factor of every account, or no longer."""
        demanded = request.form.get("demanded") == "1"
        try:
            demand_second_factor(current_gateway(), demanded, current_user.id, actor=actor())
        except AccountRefused as refused:
            flash(str(refused), "error")
        else:
            now = "needs a second factor now" if demanded else "may do without a second factor again"
            flash(f"Every account {now}.", "success")
        return redirect(url_for("operators.index_view"))


def _account(account_id: int) -> Account:
    account = find_account(current_gateway(), account_id=account_id)
    if account is None:
        abort(404)
    return account


def _change(account: Account, changes: dict[str, Any]) -> bool:
    """Change the account. Returns whether that was possible; a refusal is shown as a message."""
    must_set_up = changes.get("second_factor_required") and not account.second_factor_required
    if must_set_up and not account.tf_totp_secret and account.id not in _with_passkey():
        # Sessions without the factor end: the next sign-in sets it up.
        changes = changes | {"fs_uniquifier": new_uniquifier()}
    try:
        update_account(current_gateway(), account.id, changes, actor=actor())
    except AccountRefused as refused:
        flash(str(refused), "error")
        return False
    return True


def _with_passkey() -> frozenset[int]:
    """The accounts that have a passkey, read once a request."""
    if "with_passkey" not in g:
        g.with_passkey = accounts_that_have_passkeys(current_gateway())
    return g.with_passkey


def _second_factor(operator: Operator) -> Any:
    if operator.tf_totp_secret or operator.id in _with_passkey():
        return pill("set up", "good")
    return pill("at next sign-in", "warn") if operator.second_factor_required else pill("none", "plain")
