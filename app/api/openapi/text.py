"""The introduction of the OpenAPI document: how to use the gateway, and the rules for clients."""

from __future__ import annotations

from typing import Final

from app.api.error_tables import codes_table, reasons_table
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.codes import XferStatus

STATUS_MEANINGS: Final[dict[Status, str]] = {
    Status.TRANSFER_UNKNOWN: "Nothing is certain about it at the moment.",
    Status.TRANSFER_SUBMITTING: "The gateway watches the transaction on the source chain.",
    Status.TRANSFER_FAILED: "Failed before any funds left. No refund is needed.",
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: "The validator network has yet to confirm it.",
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: "The funds are about to be released on the destination chain.",
    Status.TRANSFER_COMPLETED: "Completed.",
    Status.TRANSFER_TO_BE_REFUNDED: "Failed; the refund must be started. `refund_reason` says why it failed.",
    Status.TRANSFER_REQUESTING_REFUND: "The refund's evidence is being collected.",
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: (
        "The user must submit the refund on the source chain with `wd_onchain`, `sorted_sigs`, `signers` "
        "and `powers` of this answer: simulate the call first, for the contract may be paused or "
        "out of funds."
    ),
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: (
        "The gateway watches the refund on the source chain: it is in a block, or in the contract's delay "
        "queue."
    ),
    Status.TRANSFER_REFUNDED: "Refunded.",
    Status.TRANSFER_DELAYED: "Its release waits in a delayed execution queue.",
}

XFER_MEANINGS: Final[dict[XferStatus, str]] = {
    XferStatus.UNKNOWN: "Placeholder; also sent while `status` is not 6.",
    XferStatus.OK_TO_RELAY: "Waiting for the validator network's confirmation.",
    XferStatus.SUCCESS: "Succeeded.",
    XferStatus.BAD_LIQUIDITY: "Failed: not enough liquidity.",
    XferStatus.BAD_SLIPPAGE: "Failed: the slippage allowed was too low.",
    XferStatus.BAD_TOKEN: "Failed: the token is not supported, or the amount was not available.",
    XferStatus.REFUND_REQUESTED: "The refund has begun.",
    XferStatus.REFUND_DONE: "The refund is done.",
    XferStatus.BAD_XFER_DISABLED: "Failed: transfers of the token are disabled.",
    XferStatus.BAD_DEST_CHAIN: "Failed: the destination chain is not supported.",
}


def _table(meanings: dict[Status, str] | dict[XferStatus, str]) -> str:
    rows = (f"| {value.value} | `{value.name}` | {text} |" for value, text in meanings.items())
    return "\n".join(("| Code | Name | Meaning |", "|---|---|---|", *rows))


INTRODUCTION: Final = f"""\
Where is a cross-chain transfer, what would one cost, how long does it take? No key is needed.
For machines, this page is [openapi.json](/openapi.json).

## How answers look

- Every answer is JSON and has **every field of its table, always**. When `err` is not null, all
  other fields have their zero value.
- A question that can be read is answered with HTTP 200, with or without `err`. Anything else is a
  4xx or 5xx, and has the same envelope.
- The header `X-Gateway-Reason` tells machines why, on every `err`; browsers may read it.
- Amounts are integers in a token's smallest unit, as decimal strings, up to 2^256-1. `amt` counts
  source tokens, the amounts of an answer count destination tokens: the two may have different decimals.
- Integers in the query are ASCII digits alone. An empty optional parameter is left out, an empty
  required one is missing, a repeated one is refused unless it is a list, an unknown one is ignored.
- Fields may be added to answers: ignore those you do not know.
- Answers are not to be cached, but for the transfer configs, which carry an `ETag`.
- HTTP 414 and 431 come from the server, before it knows the path: the answer then has the fields of
  every operation.
- The same operations are offered over gRPC-Web, at the same base address.

## Rules for clients of the estimate

1. **Tolerance.** `slippage_tolerance` counts parts per million: divided by 1000000 it is the
   tolerated rate, which is at least 0 and under 1.
2. **Cut, do not round.** Only whole numbers are taken. When converting a percentage leaves a
   fraction, drop it: 501.23 becomes 501.
3. **Pegged transfers.** When `is_pegged` is true, slippage has no effect. The pegged pair configs
   tell whether a token is pegged between two chains.
4. **What `max_slippage` is.** The amount sent, at the bridge rate, is the estimated destination
   amount. Less the tolerated rate, `base_fee` and `perc_fee`, it is the estimated minimum. The part
   of the source amount that this minimum falls short of, in parts per million, is `max_slippage`,
   and never under the contract's minimum. Everything is counted in destination units.
5. **The contract's minimum.** Each bridge contract keeps its own `minimalMaxSlippage`. Read it there.
6. **What the user gets at least** is `eq_value_token_amt` × (1 - `max_slippage` / 1000000). Show it.
7. **Compare before sending.** When `max_slippage` is lower than the contract's `minimalMaxSlippage`,
   ask the user for a higher tolerance. Most sends that fail on chain fail because slippage was too small.
8. **Ask again just before the final submit.** `max_slippage`, `bridge_rate`, `perc_fee` and
   `base_fee` change with time.
9. **Two chains.** Only transfers from one chain to another are accepted; the same chain on both
   sides is an error.

On code 1005 or 1017 the amount is over a pool's limit: have the user lower it. `msg` says to what.

## Status of a transfer

The numbers of `status`, TransferHistoryStatus:

{_table(STATUS_MEANINGS)}

## Reason of a refund

The numbers of `refund_reason`, XferStatus. Meaningful while `status` is 6; otherwise 0. Values that
begin with BAD say why the transfer failed.

{_table(XFER_MEANINGS)}

## Error codes

The numbers of `err.code`, ErrCode:

{codes_table()}

## Error reasons

The values of the header `X-Gateway-Reason`, with the code and HTTP status they come with:

{reasons_table()}
"""
