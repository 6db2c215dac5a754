"""The same with what needs web3."""

from __future__ import annotations

from typing import Any

from cases import DOES, Case, made_send, main
from transfer_gateway_client.evm import transfer_id, verify_evidence


def evidence(case: Case) -> list[Any]:
    refund = verify_evidence(
        case["evidence"], case["configs"], case["transfer"],
        receiver=case.get("receiver"), contracts=case.get("contracts", ()),
    )  # fmt: skip
    request, sigs, signers, powers = refund.arguments
    return [
        refund.kind, refund.chain_id, refund.contract, refund.function, refund.receiver, refund.token,
        str(refund.amount), "0x" + request.hex(), ["0x" + each.hex() for each in sigs], signers,
        [str(each) for each in powers],
    ]  # fmt: skip


def name(case: Case) -> str:
    return transfer_id(case["sender"], made_send(case))


if __name__ == "__main__":
    main({**DOES, "evidence": evidence, "transfer_id": name})
