"""``flask --app wsgi evidence …``: would the contract pay this refund?"""

from __future__ import annotations

import re
from typing import Final

import click
import orjson
from flask.cli import AppGroup

from app.cli.evidence_text import evidence_lines
from app.domain.errors import GatewayError
from app.domain.keys import TransferId
from app.domain.refund.explanation import RefundExplanation, against_set_hash
from app.runtime.gateway import current_gateway
from app.runtime.readiness import database_complaint
from app.services.refunds.evidence import refund_evidence
from app.terminal import say

VALID, NOT_VALID, UNUSABLE = 0, 1, 2
"""Exit codes."""

_HASH: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")

evidence = AppGroup("evidence", help="Evidence of refunds.")


class _Unusable(Exception):
    """There is nothing to judge; the message says what to do."""


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
    gateway = current_gateway()
    if complaint := database_complaint(gateway):
        raise _Unusable(f"{complaint}; check DATABASE_URL, and run: flask --app wsgi db upgrade")
    try:
        return refund_evidence(gateway, transfer_id)
    except GatewayError as error:
        raise _Unusable(error.msg) from None
