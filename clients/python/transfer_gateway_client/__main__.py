"""``python -m transfer_gateway_client verify FILE...``: whether saved answers prove their refunds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

try:
    from eth_utils.address import is_address, to_checksum_address

    from transfer_gateway_client.evidence import CALL, KINDS, EvidenceError
    from transfer_gateway_client.saved import ID_BYTES, Known, UnusableAnswer, Verified, verify_saved
except ImportError as missing:
    raise SystemExit(f'{missing}: install the extra, such as pip install "./clients/python[evm]"') from None

RECURSION = 1000
VALID, NOT_VALID, UNUSABLE = 0, 1, 2
"""Exit codes. Of several files the worst one counts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify each file, and print what was found. Returns the exit code."""
    # A package that eth-account imports raises the limit: deeply nested JSON would end the process.
    sys.setrecursionlimit(min(RECURSION, sys.getrecursionlimit()))
    given = _parser().parse_args(arguments)
    known = Known(given.chain, given.contract, given.kind, given.transfer, given.set_hash)
    return max(_verify(file, known) for file in given.files)


def _verify(file: str, known: Known) -> int:
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        found = verify_saved(json.loads(text), known)
    except EvidenceError as wrong:
        print(f"{file}: NOT VALID: {wrong}")
        return NOT_VALID
    except UnusableAnswer as unusable:
        print(f"{file}: {unusable}", file=sys.stderr)
        return UNUSABLE
    except OSError as unreadable:
        print(f"{file}: cannot be read: {unreadable.strerror}", file=sys.stderr)
        return UNUSABLE
    except (ValueError, RecursionError):
        print(f"{file}: is not JSON", file=sys.stderr)
        return UNUSABLE
    print(f"{file}: VALID: the refund can be claimed with this evidence")
    print("\n".join(f"  {name:<9} {value}" for name, value in _facts(found)))
    return VALID


def _facts(found: Verified) -> Iterator[tuple[str, str]]:
    refund = found.refund
    yield "kind", refund.kind
    yield "chain", str(refund.chain_id)
    yield "contract", refund.contract
    yield "call", CALL.format(refund.function)
    yield (
        "transfer",
        "none: a withdrawal of liquidity" if found.transfer is None else f"0x{found.transfer.hex()}",
    )
    yield "receiver", refund.receiver
    yield "token", refund.token
    yield "amount", str(refund.amount)
    yield "signed", f"{found.power_signed} of {found.power_total}, {found.power_total * 2 // 3 + 1} needed"
    yield "set hash", f"0x{found.set_hash.hex()}, must be ssHash() of the contract"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m transfer_gateway_client")
    verify = parser.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "verify",
        help="verify the evidence of refunds in saved answers",
        description="Verify saved answers of getTransferStatus or getRefundEvidence as the contract does, "
        "without a gateway. Exits with 0 if all are valid, 1 if one is not, 2 if one cannot be judged.",
    )
    verify.add_argument("files", nargs="+", metavar="FILE", help="a saved answer; - is standard input")
    verify.add_argument("--chain", type=chain_id, help="the source chain, which pays")
    verify.add_argument("--contract", type=address, help="the contract that pays there")
    verify.add_argument("--kind", choices=[*KINDS], help="found by the signatures where it is left out")
    verify.add_argument("--transfer", type=hex_of_32_bytes, help="the transfer it must refund")
    verify.add_argument("--set-hash", type=hex_of_32_bytes, help="what ssHash() of the contract returns now")
    return parser


def chain_id(text: str) -> int:
    """argparse names this function where it refuses a text, as the two below."""
    if not 0 < int(text) < 2**64:
        raise ValueError(text)
    return int(text)


def address(text: str) -> str:
    if not is_address(text):
        raise ValueError(text)
    return to_checksum_address(text)


def hex_of_32_bytes(text: str) -> bytes:
    value = bytes.fromhex(text.removeprefix("0x"))
    if len(value) != ID_BYTES:
        raise ValueError(text)
    return value


if __name__ == "__main__":
    raise SystemExit(main())
