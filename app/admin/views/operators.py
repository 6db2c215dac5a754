"""The pages of the console's accounts."""

from __future__ import annotations

from typing import Any

from flask import abort, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import ADMINISTER, Access, Audience
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


class OperatorsView(ListView):
    """Accounts of the console."""

    section = "People"
    model_class = Operator
    title = "Operators"
    explanation = "Who may sign in here, and as what. Accounts are never deleted, since the audit names them."
    row_endpoint = "operators.edit"
    new_endpoint = "operators.new"
    new_label = "New operator"
    access = {
        "index_view": Access(Audience.ADMIN),
        "export": Access(Audience.ADMIN),
        "new": ADMINISTER,
        "edit": ADMINISTER,
        "end_sessions": Access(Audience.NOBODY, Audience.ADMIN),
        "reset_second_factor": Access(Audience.NOBODY, Audience.ADMIN),
        "new_password": Access(Audience.NOBODY, Audience.ADMIN),
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
        return self.render("console/operator.html", form=form, account=account)

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
        account = _account(account_id)
        if _change(
            account,
            {"tf_primary_method": None, "tf_totp_secret": None, "fs_uniquifier": new_uniquifier()},
        ):
            flash(f"{account.email} has no second factor now and is signed out.", "success")
        return redirect(url_for("operators.edit", account_id=account_id))

    @expose("/<int:account_id>/new-password", methods=("POST",))
    def new_password(self, account_id: int) -> ResponseReturnValue:
        """Give an account a new password, shown once."""
        account = _account(account_id)
        password = reset_password(current_gateway(), account_id, actor=actor())
        return self.render("console/account/new_password.html", account=account, password=password)


def _account(account_id: int) -> Account:
    account = find_account(current_gateway(), account_id=account_id)
    if account is None:
        abort(404)
    return account


def _change(account: Account, changes: dict[str, Any]) -> bool:
    """Change the account. Returns whether that was possible; a refusal is shown as a message."""
    must_set_up = changes.get("second_factor_required") and not account.second_factor_required
    if must_set_up and not account.tf_totp_secret:
        # Sessions without the factor end: the next sign-in sets it up.
        changes = changes | {"fs_uniquifier": new_uniquifier()}
    try:
        update_account(current_gateway(), account.id, changes, actor=actor())
    except AccountRefused as refused:
        flash(str(refused), "error")
        return False
    return True


def _second_factor(operator: Operator) -> Any:
    if operator.tf_totp_secret:
        return pill("set up", "good")
    return pill("at next sign-in", "warn") if operator.second_factor_required else pill("none", "plain")
