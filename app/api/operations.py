"""The table of operations, in the order of the document. The routes, the OpenAPI document and the methods of
gRPC-Web are made from it.
"""

from __future__ import annotations

from typing import Any, Final

from app.api import health
from app.estimates import views as estimates
from app.estimates.schemas import (
    EstimateAnswer,
    ExplainedAnswer,
    SendAnswer,
    SendQuery,
    estimate_query,
    send_json,
)
from app.http.headers import MEANT, MEANT_COUNT, PROGRESS_HEADERS
from app.http.requests import READ, SANDBOX, Operation
from app.latency import views as latency
from app.latency.schemas import (
    LatencyAnswer,
    LatencyQuery,
    LatencyStatsAnswer,
    LatencyStatsQuery,
    latency_stats_json,
)
from app.network import views as configs
from app.network.schemas import ConfigsAnswer, TokenInfoAnswer, TokenInfoQuery
from app.refunds import views as refunds
from app.refunds.schemas import EvidenceAnswer, EvidenceQuery, WithdrawAnswer, WithdrawBody
from app.sandbox import views as sandbox
from app.sandbox.schemas import AdvanceAnswer, AdvanceBody
from app.transfers import views as transfers
from app.transfers.schemas.look_ups import (
    AnyFindQuery,
    AnyHistoryQuery,
    FindAnswer,
    FindQuery,
    HistoryAnswer,
    HistoryQuery,
    found_json,
    history_json,
)
from app.transfers.schemas.status_answers import (
    AnyStatusQuery,
    StatusBody,
    StatusesAnswer,
    StatusesBody,
    TransactionBody,
    progress_headers,
    status_answer,
)
from app.waiting import views as waiting
from app.waiting.schemas import EventsQuery, WaitQuery
from app.webhooks import views as webhooks
from app.webhooks.schemas import WebhookBody, WebhookQuery, WebhooksAnswer

_CONFIGS: Final[dict[str, Any]] = {
    "call": configs.get_transfer_configs,
    "view": configs.serve_transfer_configs,
    "group": "configs",
    "answer": ConfigsAnswer(),
    "description": (
        "Returns the chains, tokens, pegged pairs and blocked directions, with the ids and symbols that "
        "other operations use. Both paths give the same answer. Send the `ETag` in `If-None-Match` to "
        "get 304 while nothing has changed."
    ),
    "parameters": (("If-None-Match", "The ETag of a previous answer."),),
    "answer_headers": ("ETag",),
    "failures": READ[1:],
}
_WEBHOOKS: Final[dict[str, Any]] = {
    "group": "webhooks",
    "path": "/webhooks",
    "answer": WebhooksAnswer(),
    "tag": "Webhooks",
    "key_needed": True,
}
_HEALTH: Final[dict[str, Any]] = {"group": "health", "tag": "Health", "key_needed": None}

OPERATIONS: Final = (
    Operation(
        name="estimateAmt",
        call=estimates.estimate_amt,
        query=estimate_query,
        answer=EstimateAnswer(),
        summary="estimateAmt: what a transfer brings and costs",
        description=(
            "Returns the amount to be received, the fees, the rate, and the slippage value for the on-chain "
            "send. Compare `max_slippage` with the contract's minimum, and request the estimate again just "
            "before the final submit."
        ),
    ),
    Operation(
        name="estimateAmtByPost",
        call=estimates.estimate_amt,
        method="POST",
        path="/estimateAmt",
        query=estimate_query,
        form=True,
        answer=EstimateAnswer(),
        summary="estimateAmt by POST: the same in a body",
        description=(
            "The same fields and rules, as a JSON object or a form. In JSON, integers may also be strings, "
            "and null counts as omitted. The query of a POST is ignored."
        ),
        # With two bodies and nothing optional, openapi-python-client 0.29 leaves out an import that it needs.
        parameters=(("X-Requested-With", "Some clients send it with every request. It is ignored."),),
        examples_of="estimateAmt",
    ),
    Operation(
        name="getSendTransaction",
        call=estimates.get_send_transaction,
        dump=send_json,
        query=SendQuery(),
        answer=SendAnswer(),
        refuses_unknown=True,
        summary="getSendTransaction: the transaction that sends a transfer",
        description=(
            "Returns what `estimateAmt` returns, and what a wallet of an EVM chain signs to send the "
            "transfer at this price: the approval of the token, the transaction, and the id that the "
            "transfer will have. The same request with the same `nonce` is the same transfer: try again "
            "with it. Unknown parameters are refused."
        ),
    ),
    Operation(
        name="getTransferStatus",
        call=transfers.get_transfer_status,
        headers=progress_headers,
        method="POST",
        bodies=(StatusBody(), TransactionBody()),
        answer=status_answer,
        summary="getTransferStatus: status of a transfer",
        description=(
            "Returns the progress of one transfer, identified by its id or by the transaction of its send, "
            "links to its transactions, and, while status is 8, the evidence for the on-chain refund "
            "(`getRefundEvidence` gives the call for it). For an unknown transfer, `msg` says how recent "
            "the newest event of each chain is. Headers say whether the transfer is over, who acts next, "
            "when to poll again and how recent the answer is."
        ),
        answer_headers=(*PROGRESS_HEADERS, MEANT, MEANT_COUNT),
    ),
    Operation(
        name="getTransferStatusByGet",
        call=transfers.get_transfer_status,
        headers=progress_headers,
        path="/getTransferStatus",
        endpoint="get_transfer_status_by_get",
        query=StatusBody(),
        reads=AnyStatusQuery(),
        answer=status_answer,
        summary="getTransferStatus by GET: the same in a query",
        description=(
            "For clients that send no body. Also accepted in place of the id: `tx_hash` and `src_chain_id`, "
            "which are not read next to it."
        ),
        answer_headers=(*PROGRESS_HEADERS, MEANT, MEANT_COUNT),
        examples_of="getTransferStatus",
    ),
    Operation(
        name="getLatest7DayTransferLatencyForQuery",
        call=latency.get_latest_7_day_transfer_latency,
        dump=lambda seconds: {"median_transfer_latency_in_second": seconds},
        query=LatencyQuery(),
        answer=LatencyAnswer(),
        summary="getLatest7DayTransferLatencyForQuery: how long transfers take",
        description=(
            "Returns the exact median time from send to release of the transfers between the two chains "
            "that were released in the last 7 days."
        ),
    ),
    Operation(
        name="getRefundEvidence",
        call=refunds.get_refund_evidence,
        group="evidence",
        query=EvidenceQuery(),
        answer=EvidenceAnswer(),
        summary="getRefundEvidence: the call that pays a refund",
        description=(
            "Returns everything that a refund depends on, checked as the contract checks it: the request, "
            "the call to send, which validators have signed with how much power, and what is "
            "missing. `valid` is true exactly while the "
            "transfer's status is 8; then `call` has the arguments, and `call.data` is what a wallet sends "
            "to `contract` on chain `chain_id`."
        ),
    ),
    Operation(
        name="withdrawLiquidity",
        call=refunds.withdraw_liquidity,
        dump=lambda number: {"seq_num": str(number)},
        group="evidence",
        method="POST",
        further_paths=("/withdrawLiquidity ",),  # one client writes a space after the path
        bodies=(WithdrawBody(),),
        answer=WithdrawAnswer(),
        summary="withdrawLiquidity: request a refund",
        description=(
            "Requests the refund of a transfer with status 6. The status becomes 7, and 8 when the "
            "validators have signed: poll `getTransferStatus` until then. With status 7 to 10 the answer "
            "is the same and nothing changes; with any other status it is `refund_not_available`. A caller "
            "may send a few requests a minute. No signature is needed: the refund is paid to the sender of "
            "the transfer, no matter who requests it."
        ),
    ),
    Operation(
        name="transferHistory",
        call=transfers.get_transfer_history,
        dump=history_json,
        query=HistoryQuery(),
        reads=AnyHistoryQuery(),
        answer=HistoryAnswer(),
        summary="transferHistory: transfers of accounts",
        description=(
            "Returns the transfers from or to any of the accounts, newest first, each once. A page ends on "
            "a whole millisecond, so it may have a few more transfers than `page_size`: following "
            "`next_page_token` returns each transfer once, also while new ones arrive. An unknown account "
            "has an empty history."
        ),
    ),
    Operation(
        name="getTransfer",
        call=transfers.get_transfer,
        dump=found_json,
        query=FindQuery(),
        reads=AnyFindQuery(),
        answer=FindAnswer(),
        summary="getTransfer: find a transfer by its id or a transaction",
        description=(
            "Returns the transfers with this id, or whose send, payout or refund is this transaction, with "
            "all fields of their status. `read_to` says how far each chain had been read: a transaction in "
            "a later block may still become known. Chain nodes are not queried."
        ),
    ),
    Operation(
        name="getTransferStatuses",
        call=transfers.get_transfer_statuses,
        method="POST",
        bodies=(StatusesBody(),),
        answer=StatusesAnswer(),
        summary="getTransferStatuses: status of several transfers",
        description=(
            "Returns what `getTransferStatus` returns for each of up to 100 ids, in the order requested, "
            "all of one moment. Each has its own `err`."
        ),
    ),
    Operation(
        name="explainEstimate",
        call=estimates.get_explained_estimate,
        query=estimate_query,
        answer=ExplainedAnswer(),
        summary="explainEstimate: how an estimate comes about",
        description=(
            "Returns how `estimateAmt` comes to its answer to the same parameters: every number with its "
            "formula, inputs and rounding, every limit with what is left of it, and the amounts that pass. "
            "If the estimate is refused, `refusal` has its code, reason and message, the check that refused "
            "and the nearest amounts that pass; `err` is null. A blocked caller gets no numbers."
        ),
    ),
    Operation(
        name="getTransferLatencyStats",
        call=latency.get_transfer_latency_stats,
        dump=latency_stats_json,
        query=LatencyStatsQuery(),
        answer=LatencyStatsAnswer(),
        summary="getTransferLatencyStats: median and percentiles of transfer times",
        description=(
            "Returns the exact median and the 90th and 99th percentiles (nearest rank) of the time from send "
            "to release, in seconds, of the transfers between the two chains that were released in the last "
            "7 days. For a token of a very busy pair the window is shorter: see `window_seconds`."
        ),
    ),
    Operation(
        name="waitTransferStatus",
        view=waiting.wait_transfer_status,
        group="wait",
        query=WaitQuery(),
        answer=status_answer,
        summary="waitTransferStatus: wait for the next status of a transfer",
        description=(
            "Returns what `getTransferStatus` returns, when the transfer is at another status than "
            "`after_status`, or when the time is over. If 503 has the reason `wait_busy`, too many clients "
            "wait: use `getTransferStatus` instead. A gateway may serve this path elsewhere or not at all "
            "(404)."
        ),
        examples_of="getTransferStatus",
    ),
    Operation(
        name="transferEvents",
        view=waiting.transfer_events,
        group="wait",
        query=EventsQuery(),
        summary="transferEvents: a stream of the changes of statuses",
        description=(
            "A stream with an event for each change of a status, also when a status is taken back. With "
            "`transfer_id` it begins with the first status; with `account`, with the next change; with the "
            "id of an event, after that event. A gateway may serve this path elsewhere or not at all (404)."
        ),
        parameters=(
            ("Last-Event-ID", "The id of the last event that you received: the stream continues after it."),
        ),
        streams=True,
    ),
    Operation(
        **_WEBHOOKS,
        name="listWebhooks",
        view=webhooks.list_webhooks,
        summary="webhooks: list yours",
        description="Returns the webhooks of the API key, the oldest first.",
    ),
    Operation(
        **_WEBHOOKS,
        name="createWebhook",
        view=webhooks.create_webhook,
        method="POST",
        bodies=(WebhookBody(),),
        summary="webhooks by POST: create one",
        description=(
            "Posts an event to the URL for each change of status of the transfers that are named: "
            "`accounts`, `transfer_ids`, or `everything` with a key of the scope `webhooks:all`. Events "
            "are signed as Standard Webhooks specifies, with the `secret` of this answer."
        ),
    ),
    Operation(
        **_WEBHOOKS,
        name="removeWebhook",
        view=webhooks.remove_webhook,
        method="DELETE",
        query=WebhookQuery(),
        summary="webhooks by DELETE: remove one",
        description="Sends nothing more to it. Returns the webhooks that are left.",
    ),
    Operation(
        **_CONFIGS,
        name="getTransferConfigs",
        endpoint="getTransferConfigs",
        summary="getTransferConfigs: chains and tokens",
    ),
    Operation(
        **_CONFIGS,
        name="getTransferConfigsForAll",
        endpoint="getTransferConfigsForAll",
        summary="getTransferConfigsForAll: the same",
    ),
    Operation(
        name="getTokenInfo",
        call=configs.get_token_info,
        dump=lambda info: {"token_info": info},
        group="configs",
        query=TokenInfoQuery(),
        answer=TokenInfoAnswer(),
        refuses_unknown=True,
        summary="getTokenInfo: one token of a chain",
        description=(
            "Returns one token of a chain as the transfer configs list it. Clients that need several tokens "
            "read the configs once instead. An unknown parameter is refused."
        ),
    ),
    Operation(
        name="advance",
        call=sandbox.advance,
        group=SANDBOX,
        method="POST",
        endpoint="sandbox_advance",
        bodies=(AdvanceBody(),),
        answer=AdvanceAnswer(),
        tag="Sandbox",
        summary="advance: move a made-up transfer",
        description=(
            "Lets the next steps of a story happen to a transfer at once, or all that are left. They are "
            "reported as any events are: statuses, histories, streams and webhooks follow."
        ),
        key_needed=None,
    ),
    Operation(name="estimateWithdrawAmt", call=estimates.estimate_withdraw_amt, group="grpcweb"),
    Operation(name="getTokenBound", call=estimates.get_token_bound, group="grpcweb"),
    Operation(
        **_HEALTH,
        name="healthz",
        view=health.up,
        summary="healthz: is it up?",
        description="200 while the process is running.",
        failures=(405,),
    ),
    Operation(
        **_HEALTH,
        name="readyz",
        view=health.ready,
        answer=health.READY,
        summary="readyz: can it serve?",
        description=(
            "200 if the database is reachable, this version runs on its schema, its clock agrees and the "
            "copy of the configuration is up to date; otherwise 503, and `msg` names the cause. `watching` "
            "says how far the gateway has read the chains that it watches, `stale_feeds` which chains "
            "reported nothing new for longer than the operator allows."
        ),
        failures=(405, 500, 503),
    ),
    Operation(
        **_HEALTH | {"group": "release"},
        name="version",
        view=health.version,
        answer=health.VERSION_SHAPE,
        summary="version: which one answers?",
        description="It reads nothing, so it answers while the database is down.",
        failures=(405, 500),
    ),
)
