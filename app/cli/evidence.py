"""``flask --app wsgi evidence …``: would the contract pay this refund?"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import click
import orjson
from flask.cli import AppGroup

from app.cli.evidence_text import evidence_lines
from app.domain.codes import SendKind
from app.domain.crypto import parse_evm_address
from app.domain.errors import GatewayError
from app.domain.keys import ChainId, TransferId
from app.domain.refund.explanation import RefundExplanation, against_set_hash
from app.runtime.gateway import current_gateway
from app.runtime.readiness import database_complaint
from app.services.refunds.evidence import refund_evidence
from app.services.refunds.saved import MAX_DOCUMENT_BYTES, Known, UnusableInput, verify_document
from app.terminal import say

VALID, NOT_VALID, UNUSABLE = 0, 1, 2
"""Exit codes."""

_HASH: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")

evidence = AppGroup("evidence", help="Evidence of refunds.")


class _Hash(click.ParamType[bytes]):
    """32 bytes in hex, with or without 0x."""

    name = "hash"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        match = _HASH.fullmatch(value)
        return bytes.fromhex(match[1]) if match else self.fail("must be 32 bytes in hex", param, ctx)


class _Address(click.ParamType[bytes]):
    """A contract's address."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        address = parse_evm_address(value)
        return address if address else self.fail("must be 0x followed by 40 hex digits", param, ctx)


@evidence.command("verify")
@click.argument("target", metavar="TRANSFER_ID|FILE")
@click.option(
    "--chain", type=click.IntRange(1, 2**64 - 1), help="For a FILE: the source chain, which pays the refund."
)
@click.option("--contract", type=_Address(), help="For a FILE: the contract that pays the refund.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in SendKind]),
    help="For a FILE: the kind of the send; detected if omitted.",
)
@click.option("--transfer", type=_Hash(), help="For a FILE: the transfer that must be refunded.")
@click.option("--set-hash", type=_Hash(), help="The value that ssHash() of the contract returns now.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of getRefundEvidence as JSON.")
@click.pass_context
def verify(
    context: click.Context,
    target: str,
    *,
    chain: int | None,
    contract: bytes | None,
    kind: str | None,
    transfer: bytes | None,
    set_hash: bytes | None,
    as_json: bool,
) -> None:
    """Verify the evidence of a refund as the contract does, and show the details.

    TRANSFER_ID is a transfer of this gateway. FILE (- for standard input) is a saved answer of
    getTransferStatus or getRefundEvidence of any such gateway; it needs no database.

    Exits with 0 if the evidence is valid, with 1 if it is not, with 2 if there is nothing to verify.
    """
    known = Known(
        ChainId(chain) if chain is not None else None,
        contract,
        SendKind(kind) if kind else None,
        set_hash,
        TransferId(transfer) if transfer is not None else None,
    )
    try:
        match = _HASH.fullmatch(target)
        shown = _of_transfer(TransferId(bytes.fromhex(match[1])), known) if match else _of_file(target, known)
    except UnusableInput as unusable:
        say(f"{target}: {unusable}", err=True)
        context.exit(UNUSABLE)
    if as_json:
        answer = {"err": None, **shown.as_dict()}
        click.echo(orjson.dumps(answer, option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(evidence_lines(shown)))
    context.exit(VALID if shown.valid else NOT_VALID)


def _of_transfer(transfer_id: TransferId, known: Known) -> RefundExplanation:
    if known.chain_id or known.contract or known.kind or known.transfer_id:
        raise UnusableInput("--chain, --contract, --kind and --transfer can be used with a FILE only")
    gateway = current_gateway()
    if complaint := database_complaint(gateway):
        raise UnusableInput(f"{complaint}; check DATABASE_URL, and run: flask --app wsgi db upgrade")
    try:
        shown = refund_evidence(gateway, transfer_id)
    except GatewayError as error:
        raise UnusableInput(error.msg) from None
    return against_set_hash(shown, known.set_hash) if known.set_hash else shown


def _of_file(path: str, known: Known) -> RefundExplanation:
    """Judge a saved answer. It needs neither the gateway nor its database."""
    try:
        if path == "-":
            text = sys.stdin.buffer.read(MAX_DOCUMENT_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                text = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise UnusableInput(f"is neither a transfer id nor a readable file: {error.strerror}") from None
    return verify_document(text, known)
