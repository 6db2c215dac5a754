"""Changes of accounts and of their rules by others than their owner: made at once, or proposed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from sqlalchemy import Connection

from app.accounts.queries import count_active_with_role, passkeys_of, second_factor_rule
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import NO_APPROVALS, OPERATORS, Proposal, TwoPersons
from app.accounts.services.accounts import (
    Account,
    AccountRefused,
    account_named,
    change_account,
    checked_account,
    documented,
    insert_account,
    needs_second_person,
    new_uniquifier,
)
from app.accounts.services.factors import RULE, change_of_rule, delete_factors, store_rule
from app.accounts.services.planned_changes import AdministeredChange, PlannedChange
from app.accounts.services.proposals import carry_out, require_as_proposed
from app.audit.keys import AuditKeys
from app.audit.previews import Effect, Severity
from app.audit.queries import audit_head
from app.audit.rules.records import Actor, AuditedChange, Source
from app.audit.services import Conflict, Saved, require_unchanged
from app.db.database import Database
from app.db.engine import writing

ACCOUNT: Final = "account"
"""The name of a change of an account in proposals."""


class AccountAction(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    NEW_PASSWORD = "new_password"  # noqa: S105  the name of an action
    RESET_SECOND_FACTOR = "reset_second_factor"


class AccountRequest(Struct, frozen=True):
    """A requested change of an account.

    ``email`` is in its one spelling. ``values`` are the new ones of role, active and second_factor_required.
    ``hashed`` is a new password's hash. ``passed_on``: another person chose the password, so the owner must
    change it first. ``shown`` is the fingerprint of the account as the requester saw it, where it was shown.
    """

    action: AccountAction
    email: str
    values: Mapping[str, Any] = field(default_factory=dict)
    hashed: str | None = None
    passed_on: bool = True
    shown: str | None = None


class _AccountPlan(Struct, frozen=True):
    """A request together with the stored account; ``before`` is None for a new account."""

    request: AccountRequest
    before: Account | None
    columns: Mapping[str, Any]
    audited: AuditedChange
    passkeys: tuple[str, ...] = ()

    @property
    def based_on(self) -> str:
        """A digest of the account's secrets, so that a proposal notices that they changed."""
        before = self.before
        secrets = "" if before is None else f"{before.password} {before.tf_totp_secret} {self.passkeys}"
        return hashlib.sha256(secrets.encode()).hexdigest()

    @property
    def loses_passkeys(self) -> bool:
        """Whether the change deletes passkeys, which are not columns of the account."""
        return self.request.action is AccountAction.RESET_SECOND_FACTOR and bool(self.passkeys)

    def waits_for(self, actor: Actor) -> bool:
        """Whether the actor may not make the change without a second person."""
        before = self.before
        if before is None or needs_second_person(before, self.columns, actor):
            return True
        return self.loses_passkeys and actor.name != before.email

    def planned_change(self) -> PlannedChange:
        request = self.request
        return AdministeredChange(
            kind=ACCOUNT,
            section=OPERATORS,
            subject=self.audited.subject,
            summary=_summary(request, self.before),
            input={
                "wish": request.action.value,
                "email": request.email,
                "values": dict(request.values),
                "based_on": self.based_on,
            },
            changes=[self.audited],
            secret=request.hashed,
            effects=tuple(_effects(self)),
            write=self.write,
        )

    def write(
        self, connection: Connection, database: Database, audit_keys: AuditKeys, actor: Actor, note: str
    ) -> int | None:
        """Make the change. Returns the id of the last record written; None if none was.

        :param note: put before the text of the record about the account.
        """
        request, before, head = self.request, self.before, audit_head(connection)
        if before is None:
            insert_account(connection, database, audit_keys, self.columns, actor=actor, note=note)
        else:
            change_account(
                connection,
                database,
                audit_keys,
                before.id,
                self.columns,
                actor=actor,
                note=note,
                loses_passkeys=self.loses_passkeys,
            )
            if request.action is AccountAction.RESET_SECOND_FACTOR:
                delete_factors(connection, database, audit_keys, before, actor=actor)
        last = audit_head(connection)
        return last[0] if last and last != head else None


def request_account(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    request: AccountRequest,
    *,
    actor: Actor,
    reason: str | None = None,
    break_glass: str | None = None,
) -> Saved:
    """Change the account; where that waits for a second administrator, propose it instead.

    On the command line it does not wait while there are no two administrators who could approve each other's
    changes.

    :param reason: why, for the second administrator; None where it cannot be proposed.
    :param break_glass: why it is made without a second person where ``TWO_PERSONS`` names accounts.
    :raises AccountRefused: there is no such account, or already one; or it is the last administrator's.
    :raises SecondPersonNeeded: it waits, and neither reason is given.
    :raises ReasonMissing: it waits, and the reason is empty or too long.
    :raises Conflict: the account was changed after it was shown.
    """
    with writing(database.engine) as connection:
        plan = _plan(connection, request)
        if request.shown is not None and plan.before is not None:
            require_unchanged(plan.audited.subject, request.shown, documented(plan.before))
        single_admin = actor.source is Source.CLI and count_active_with_role(connection, Role.ADMIN.value) < 2
        rule = two_persons if plan.waits_for(actor) and not single_admin else NO_APPROVALS
        planned = plan.planned_change()
        return carry_out(
            connection, database, audit_keys, rule, actor, planned, reason=reason, break_glass=break_glass
        )


def create_account(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    email: str,
    password: str,
    role: Role,
    *,
    actor: Actor,
    break_glass: str | None = None,
    needs_factor: bool = False,
) -> str:
    """Create an account whose owner chose the password; its email in its one spelling.

    :param needs_factor: it has to set up a second factor at its first sign-in.
    :raises AccountRefused: the email is not valid or is taken, or the password is too weak. Other arguments
        and errors are those of ``request_account``.
    """
    address, hashed = checked_account(email, password)
    values = {"role": role.value, "second_factor_required": needs_factor}
    request = AccountRequest(AccountAction.CREATE, address, values, hashed, passed_on=False)
    request_account(database, audit_keys, two_persons, request, actor=actor, break_glass=break_glass)
    return address


def replan_account(connection: Connection, database: Database, proposal: Proposal) -> PlannedChange:
    """The proposed change of an account, planned from its current row.

    :raises Conflict: the account was changed since.
    :raises AccountRefused: as for ``request_account``.
    """
    given = proposal.given
    request = AccountRequest(AccountAction(given["wish"]), given["email"], given["values"], proposal.secret)
    plan = _plan(connection, request)
    require_as_proposed(proposal, [plan.audited])
    if plan.based_on != given["based_on"]:
        raise Conflict(
            f"the password or the second factor of {request.email} was changed since this was proposed: "
            "propose it again if it is still needed",
            (),
        )
    return plan.planned_change()


def _plan(connection: Connection, request: AccountRequest) -> _AccountPlan:
    before = account_named(connection, request.email)
    subject = f"operator {request.email}"
    if request.action is AccountAction.CREATE:
        if before is not None:
            raise AccountRefused(
                f"an account {request.email} already exists; enter another address, or change that account"
            )
        after = {"email": request.email, "role": request.values["role"], "active": True}
        # Only where true: older proposals, from before this option, must not change.
        after |= {"second_factor_required": True} if _needs_factor(request) else {}
        columns = {
            "email": request.email,
            "password": request.hashed,
            "role": request.values["role"],
            "second_factor_required": _needs_factor(request),
            "must_change_password": request.passed_on,
        }
        return _AccountPlan(request, None, columns, AuditedChange(subject, None, after))
    if before is None:
        raise AccountRefused("this account does not exist; reload the page")
    passkeys = tuple(row["credential_id"].hex() for row in passkeys_of(connection, before.id))
    columns = _columns(request, before, has_factor=bool(before.tf_totp_secret or passkeys))
    shown = {name: value for name, value in columns.items() if name != "role"}
    after = documented(replace(before, **shown, role=Role(columns.get("role", before.role))))
    audited = AuditedChange(subject, documented(before), after)
    return _AccountPlan(request, before, columns, audited, passkeys)


def _columns(request: AccountRequest, before: Account, *, has_factor: bool) -> dict[str, Any]:
    """The columns to write. Some changes also end the account's sessions."""
    ended = {"fs_uniquifier": new_uniquifier()}
    if request.action is AccountAction.NEW_PASSWORD:
        return {"password": request.hashed, "must_change_password": True} | ended
    if request.action is AccountAction.RESET_SECOND_FACTOR:
        return {"tf_primary_method": None, "tf_totp_secret": None} | ended
    must_set_up = request.values.get("second_factor_required") and not before.second_factor_required
    # Sessions without the factor end: the next sign-in sets it up.
    return dict(request.values) | (ended if must_set_up and not has_factor else {})


def _summary(request: AccountRequest, before: Account | None) -> str:
    if request.action is AccountAction.CREATE:
        factor = ", second factor required" if _needs_factor(request) else ""
        return f"create account {request.email} with the role {request.values['role']}{factor}"
    if request.action is AccountAction.NEW_PASSWORD:
        return f"create a new password for {request.email}"
    if request.action is AccountAction.RESET_SECOND_FACTOR:
        return f"reset the second factor of {request.email}"
    changed = [
        f"{name} from {_word(getattr(before, name))} to {_word(value)}"
        for name, value in request.values.items()
        if before is not None and getattr(before, name) != value
    ]
    return f"change operator {request.email}: {', '.join(changed) or 'nothing'}"


def _needs_factor(request: AccountRequest) -> bool:
    return bool(request.values.get("second_factor_required"))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _effects(plan: _AccountPlan) -> Iterator[Effect]:
    request, before = plan.request, plan.before
    if before is None:
        severity = Severity.GRAVE if request.values["role"] == Role.ADMIN.value else Severity.NOTICE
        role = request.values["role"]
        text = f"this account can sign in at once with the role {role} and the password of the proposal"
        yield Effect(text, severity)
        if _needs_factor(request):
            yield Effect("it has to set up a second factor at its first sign-in", Severity.PLAIN)
        return
    if request.action is AccountAction.NEW_PASSWORD:
        text = "the old password stops working; the one that the proposer was shown works for one sign-in"
        yield Effect(text, Severity.GRAVE)
    if request.action is AccountAction.RESET_SECOND_FACTOR:
        needed = "a new one has to be set up at the next sign-in" if before.second_factor_required else (
            "the password alone is enough to sign in"
        )  # fmt: skip
        yield Effect(needed, Severity.GRAVE)
    columns = plan.columns
    if columns.get("role", before.role) != before.role:
        severity = Severity.GRAVE if columns["role"] == Role.ADMIN.value else Severity.NOTICE
        yield Effect(f"this account gets the role {columns['role']}", severity)
    if columns.get("active", before.active) != before.active:
        yield (
            Effect("this account can sign in again", Severity.NOTICE)
            if columns["active"]
            else Effect("this account can no longer sign in", Severity.GRAVE)
        )
    if "fs_uniquifier" in columns or columns.get("active") is False:
        yield Effect("all sessions of the account end", Severity.NOTICE)


FACTOR_OPTIONAL: Final = "relaxing"
"""In proposals, the name of the change that makes a second factor optional."""


def request_optional_factor(
    database: Database, audit_keys: AuditKeys, two_persons: TwoPersons, *, actor: Actor, reason: str = ""
) -> Saved:
    """No longer require a second factor of every account; where that waits for a second administrator,
    propose it.

    :param reason: why, for the second administrator.
    :raises AccountRefused: none is required.
    :raises ReasonMissing: it waits, and no reason is given.
    """
    with writing(database.engine) as connection:
        planned = _plan_optional_factor(connection)
        return carry_out(connection, database, audit_keys, two_persons, actor, planned, reason=reason)


def replan_optional_factor(connection: Connection, _database: Database, _proposal: Proposal) -> PlannedChange:
    """The proposed change that makes a second factor optional, planned from the current rule.

    :raises AccountRefused: none is required.
    """
    return _plan_optional_factor(connection)


def _plan_optional_factor(connection: Connection) -> PlannedChange:
    if not second_factor_rule(connection):
        raise AccountRefused("a second factor is not required for everyone; nothing to change")
    effect = "a password alone is enough again, except for accounts that require a second factor"
    return AdministeredChange(
        kind=FACTOR_OPTIONAL,
        section=OPERATORS,
        subject=RULE,
        summary="make a second factor optional for everyone",
        input={},
        changes=[change_of_rule(demanded=False)],
        effects=(Effect(effect, Severity.GRAVE),),
        write=lambda connection, database, audit_keys, actor, note: store_rule(
            connection, database, audit_keys, demanded=False, actor=actor, detail=note
        ),
    )
