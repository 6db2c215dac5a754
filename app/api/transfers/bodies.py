"""The plain data that fills the shapes of histories and look-ups."""

from __future__ import annotations

from typing import Any, Final

from app.api.transfers.schemas import OneStatus
from app.domain.errors import GatewayError
from app.domain.keys import TransferId
from app.domain.times import rfc3339
from app.services.transfers.find import FoundTransfers
from app.services.transfers.history import HistoryPage, Leg, ListedTransfer
from app.services.transfers.status import TransferStatus


def history_json(page: HistoryPage) -> dict[str, Any]:
    """A page in the shape of :class:`HistoryAnswer`."""
    return {
        "history": [_history_transfer(transfer) for transfer in page.transfers],
        "next_page_token": page.next_page_token,
        "current_size": str(len(page.transfers)),
    }


def found_json(found: FoundTransfers) -> dict[str, Any]:
    """What was found, in the shape of :class:`FindAnswer`."""
    return {
        "state": found.state.value,
        "transfers": [
            _history_transfer(transfer) | _evidence_json(transfer.status) | _progress_json(transfer.status)
            for transfer in found.transfers
        ],
        "read_to": {
            str(chain_id): {"block": read.block, "at": rfc3339(read.at)}
            for chain_id, read in sorted(found.read_to.items())
        },
    }


_ONE_STATUS: Final = OneStatus()


def statuses_json(
    transfer_ids: list[TransferId], statuses: list[TransferStatus | GatewayError]
) -> dict[str, Any]:
    """The statuses in the shape of :class:`StatusesAnswer`."""
    return {
        "statuses": [
            _one_status(status) | {"transfer_id": _hex(transfer_id)}
            for transfer_id, status in zip(transfer_ids, statuses, strict=True)
        ]
    }


def _one_status(status: TransferStatus | GatewayError) -> dict[str, Any]:
    values = _refusal(status) if isinstance(status, GatewayError) else status
    fields: dict[str, Any] = _ONE_STATUS.dump(values)
    return fields if isinstance(status, GatewayError) else fields | _progress_json(status)


def _progress_json(status: TransferStatus) -> dict[str, Any]:
    """In the shape of :class:`ProgressFields`."""
    progress = status.progress
    known = (
        {}
        if progress is None
        else {
            "terminal": progress.terminal,
            "final_by": "" if progress.final_by is None else progress.final_by.value,
            "next_actor": progress.next_actor.value,
            "next_poll_seconds": progress.next_poll_seconds,
        }
    )
    return known | {"as_of": "" if status.as_of is None else rfc3339(status.as_of, "seconds")}


def _refusal(error: GatewayError) -> dict[str, Any]:
    return {"err": {"code": error.code, "msg": error.msg}}


def _history_transfer(transfer: ListedTransfer) -> dict[str, Any]:
    status = transfer.status
    return {
        "transfer_id": _hex(transfer.transfer_id),
        "src_send_info": _leg(transfer.sent),
        "dst_received_info": _leg(transfer.received),
        "ts": str(transfer.began_ms),
        "src_block_tx_link": status.src_block_tx_link,
        "dst_block_tx_link": status.dst_block_tx_link,
        "status": status.status,
        "refund_reason": status.refund_reason,
        "sender": transfer.sender,
        "receiver": transfer.receiver,
        "update_ts": str(transfer.updated_ms),
        "bridge_type": status.bridge_type,
        "dst_deadline": "0",
    }


def _evidence_json(status: TransferStatus) -> dict[str, Any]:
    return {
        "wd_onchain": status.wd_onchain,
        "sorted_sigs": status.sorted_sigs,
        "signers": status.signers,
        "powers": status.powers,
        "block_delay": status.block_delay,
    }


def _leg(leg: Leg) -> dict[str, Any]:
    return {"chain": leg.chain, "token": leg.token, "amount": str(leg.amount)}


def _hex(transfer_id: TransferId) -> str:
    return "0x" + transfer_id.hex()
