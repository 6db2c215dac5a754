"""``flask --app wsgi evidence …``: would the contract pay this refund?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import click
import orjson

from app.cli.terminal import OneLineGroup, say
from app.db.database import Database
from app.db.schema import database_complaint
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.refunds.rules.call import ContractCall, DelayedFunds
from app.refunds.rules.explanation import RefundExplanation, against_set_hash
from app.refunds.services import refund_evidence
from app.values.codes import TransferHistoryStatus
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from app.values.wire_values import printable

_INDENT: Final = "  "
_WIDTH: Final = 100


def evidence_lines(shown: RefundExplanation) -> Iterator[str]:
    """The lines to print: the verdict, what is missing, then the facts from the transfer to the signers."""
    yield _verdict(shown)
    yield from _listed(shown.missing)
    yield ""
    yield from _aligned(_facts(shown))
    if shown.request:
        yield ""
        yield f"request ({shown.domain.text})" if shown.domain else "request"
        yield from _aligned(list(shown.request.items()))
    if shown.wd_onchain and shown.signers:
        yield ""
        yield from _signers(shown)
    for other in shown.other_requests:
        yield ""
        yield f"another request, signed power {other.power_signed}"
        yield f"{_INDENT}{other.wd_onchain}"
        yield from _listed(other.contradictions)
    if shown.delayed is not None:
        yield ""
        yield "in the delay queue"
        yield from _aligned(_delayed(shown.delayed))
    if shown.may_refuse:
        yield ""
        yield "the contract may still reject the call: simulate it first"
        yield from _listed([each.words for each in shown.may_refuse])
    if shown.notes:
        yield ""
        yield "notes"
        yield from _listed(shown.notes)


def _verdict(shown: RefundExplanation) -> str:
    if shown.valid:
        return click.style("VALID", fg="green", bold=True) + ": the refund can be claimed with this evidence"
    nothing = (
        ("there is no refund to claim") if shown.wd_onchain is None else "the refund cannot be claimed now"
    )
    return click.style("NOT VALID", fg="red", bold=True) + f": {nothing}"


def _listed(sentences: Sequence[str]) -> Iterator[str]:
    for words in sentences:
        yield from click.wrap_text(printable(words), _WIDTH, f"{_INDENT}- ", f"{_INDENT}  ").splitlines()


def _facts(shown: RefundExplanation) -> list[tuple[str, str]]:
    status = TransferHistoryStatus(shown.status) if shown.status is not None else None
    contract = f"{shown.contract} ({shown.contract_role})" if shown.contract_role else shown.contract
    of_transfer = (
        ("transfer", shown.transfer_id),
        ("status", f"{status.value} {status.name}" if status is not None else None),
        ("kind", shown.kind),
        ("chain", str(shown.chain_id) if shown.chain_id is not None else None),
    )
    of_refund = (
        ("contract", contract),
        ("call", shown.call.signature if shown.call else None),
        ("data", _data(shown.call)),
        ("withdraw id", shown.withdraw_id),
        ("domain", shown.domain.separator if shown.domain else None),
        ("digest", shown.digest),
    )
    facts = (*of_transfer, *(of_refund if shown.wd_onchain else ()))
    return [(name, value) for name, value in facts if value]


def _delayed(funds: DelayedFunds) -> list[tuple[str, str]]:
    facts = (
        ("funds", funds.funds),
        ("id", funds.delayed_id),
        ("chain", str(funds.chain_id) if funds.chain_id is not None else None),
        ("contract", funds.contract),
        ("queued by", funds.tx_link or funds.tx_hash),
        ("call", funds.call.signature if funds.call else None),
        ("data", funds.call.data if funds.call else None),
    )
    return [(name, value) for name, value in facts if value]


def _data(call: ContractCall | None) -> str | None:
    """The first bytes of the call's data, and how long it is."""
    if call is None or call.data is None:
        return None
    return f"{call.data[:10]}… ({len(call.data) // 2 - 1} bytes; all of it with --json)"


def _signers(shown: RefundExplanation) -> Iterator[str]:
    version = f" version {shown.validator_set_version}," if shown.validator_set_version is not None else ""
    yield f"validators,{version} hash {shown.validator_set_hash}"
    total = shown.power_total or "0"
    rows = [(_mark(row.signed), row.address, row.power) for row in shown.signers]
    sums = (("signed", shown.power_signed), ("quorum", shown.quorum or "0"), ("all", total))
    rows += [(" " * 10, f"{name:<42}", power) for name, power in sums]
    for mark, who, power in rows:
        yield f"{_INDENT}{mark}  {who}  {power:>{len(total)}}  {_share(int(power), int(total))}"


def _mark(signed: bool) -> str:
    return click.style("signed    ", fg="green") if signed else "not signed"


def _share(power: int, total: int) -> str:
    """In percent, rounded down to a tenth: a quorum just missed must not look reached."""
    tenths = power * 1000 // total if total else 0
    return f"{tenths // 10:>3}.{tenths % 10} %"


def _aligned(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(name) for name, _ in pairs), default=0)
    yield from (f"{_INDENT}{name:<{width}}  {printable(value)}" for name, value in pairs)


VALID, NOT_VALID, UNUSABLE = 0, 1, 2
"""Exit codes."""

_HASH: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")

evidence = OneLineGroup("evidence", help="Evidence of refunds.")


class _Unusable(Exception):
    """There is nothing to verify; the message says what to do."""


class _Hash(click.ParamType[bytes]):
    """32 bytes in hex, with or without 0x."""

    name = "hash"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        match = _HASH.fullmatch(value)
        return bytes.fromhex(match[1]) if match else self.fail("must be 32 bytes in hex", param, ctx)


@evidence.command("verify")
@click.argument("transfer_id", type=_Hash(), metavar="TRANSFER_ID")
@click.option("--set-hash", type=_Hash(), help="The value that ssHash() of the contract returns now.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of getRefundEvidence as JSON.")
@click.pass_context
def verify(context: click.Context, transfer_id: bytes, *, set_hash: bytes | None, as_json: bool) -> None:
    """Verify the evidence of a transfer's refund as the contract does, and show the details.

    Saved answers are verified by the Python client: python -m transfer_gateway_client verify FILE.

    Exits with 0 if the evidence is valid, with 1 if it is not, with 2 if there is nothing to verify.
    """
    try:
        shown = _explained(TransferId(transfer_id))
    except _Unusable as unusable:
        say(f"0x{transfer_id.hex()}: {unusable}", err=True)
        context.exit(UNUSABLE)
    if set_hash:
        shown = against_set_hash(shown, set_hash)
    if as_json:
        answer = {"err": None, **shown.as_dict()}
        click.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(evidence_lines(shown)))
    context.exit(VALID if shown.valid else NOT_VALID)


def _explained(transfer_id: TransferId) -> RefundExplanation:
    database = current(Database)
    snapshots = current(SnapshotSource)
    if complaint := database_complaint(database):
        raise _Unusable(complaint)
    try:
        return refund_evidence(database, snapshots, transfer_id)
    except GatewayError as error:
        raise _Unusable(error.msg) from None
