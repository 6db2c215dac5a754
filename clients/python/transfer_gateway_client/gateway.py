"""The gateway's operations over HTTP. Answers are the gateway's JSON, typed as ``types`` has it."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, Self, TypedDict, Unpack, cast

import httpx

from transfer_gateway_client.answers import checked
from transfer_gateway_client.events import EventStream
from transfer_gateway_client.types import (
    ConfigsAnswer,
    EstimateAnswer,
    EvidenceAnswer,
    ExplainedAnswer,
    FindAnswer,
    HistoryAnswer,
    HistoryTransfer,
    LatencyAnswer,
    LatencyStatsAnswer,
    StatusAnswer,
    StatusesAnswer,
    WebhookBody,
    WebhooksAnswer,
    WithdrawAnswer,
)
from transfer_gateway_client.ways import Way, ways

TERMINAL = frozenset({2, 5, 10})
"""Statuses after which nothing comes, for gateways that do not say so in a header."""

USERS_TURN = frozenset({6, 8})
"""Statuses that wait for the user."""

_Query = dict[str, str | int]

REFUND = 1
"""``withdraw_type`` of a request for a refund."""


@dataclass(frozen=True)
class State:
    """Where a transfer is.

    ``terminal``: whether its end is final; ``final_by`` is then ``block``, or ``reported`` without one.
    ``next_actor`` is ``network``, ``user`` or ``nobody``. ``next_poll_seconds`` is when to request again, and
    ``as_of`` how new the gateway's facts are (RFC 3339); both are None where the gateway does not say.
    """

    transfer_id: str
    answer: StatusAnswer
    terminal: bool
    next_actor: str
    next_poll_seconds: float | None
    as_of: str | None
    final_by: str | None = None

    @property
    def status(self) -> int:
        """TransferHistoryStatus."""
        return self.answer["status"]


class EstimateQuestion(TypedDict):
    """The parameters of an estimate: ``amount`` in the source token's smallest unit, the tolerance in
    parts per million.
    """

    src_chain_id: int
    dst_chain_id: int
    token_symbol: str
    amount: int
    slippage_tolerance: int
    usr_addr: NotRequired[str | None]
    is_pegged: NotRequired[bool | None]


class Gateway:
    """A gateway at a base address, such as ``https://gateway.example``.

    :param api_key: for callers with limits of their own.
    :param http: a client to use instead of an own one; the caller closes it.
    """

    def __init__(
        self, base_url: str, *, api_key: str | None = None, http: httpx.Client | None = None
    ) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = http or httpx.Client(timeout=20)
        self._owned = http is None
        self._configs: tuple[str, ConfigsAnswer] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of its own client."""
        if self._owned:
            self._http.close()

    def configs(self) -> ConfigsAnswer:
        """What can be transferred where. An answer that has not changed is not loaded again."""
        known = self._configs
        response = self._send(
            "GET", "/v2/getTransferConfigs", headers={"If-None-Match": known[0]} if known else {}
        )
        if known and response.status_code == httpx.codes.NOT_MODIFIED:
            return known[1]
        answer = cast(ConfigsAnswer, checked(response))
        if etag := response.headers.get("ETag"):
            self._configs = etag, answer
        return answer

    def ways(self) -> Iterator[Way]:
        """Every way that the gateway offers now, pegged ones first."""
        return ways(self.configs())

    def estimate(self, **question: Unpack[EstimateQuestion]) -> EstimateAnswer:
        """What a transfer would bring."""
        return cast(EstimateAnswer, self._get("/v2/estimateAmt", _estimate_query(question)))

    def explain_estimate(self, **question: Unpack[EstimateQuestion]) -> ExplainedAnswer:
        """How an estimate of the same comes about. One that is refused is no error here: see ``refusal``."""
        return cast(ExplainedAnswer, self._get("/v2/explainEstimate", _estimate_query(question)))

    def latency(self, src_chain_id: int, dst_chain_id: int) -> float:
        """The median time of transfers of the last seven days, in seconds.

        :raises GatewayError: ``no_latency_data``, where there was none.
        """
        query: _Query = {"src_chain_id": src_chain_id, "dst_chain_id": dst_chain_id}
        found = cast(LatencyAnswer, self._get("/v2/getLatest7DayTransferLatencyForQuery", query))
        return found["median_transfer_latency_in_second"]

    def latency_stats(
        self, src_chain_id: int, dst_chain_id: int, token_symbol: str | None = None
    ) -> LatencyStatsAnswer:
        """Median and percentiles of the same, in seconds; of one token where it is given."""
        query: _Query = {"src_chain_id": src_chain_id, "dst_chain_id": dst_chain_id}
        if token_symbol is not None:
            query["token_symbol"] = token_symbol
        return cast(LatencyStatsAnswer, self._get("/v2/getTransferLatencyStats", query))

    def history(self, accounts: str | Sequence[str], *, page_size: int = 50) -> Iterator[HistoryTransfer]:
        """The transfers that these senders or receivers (up to 20) have, the newest first, page after
        page.
        """
        names = accounts if isinstance(accounts, str) else ",".join(accounts)
        query: _Query = {"acct_addr": names, "page_size": page_size, "next_page_token": ""}
        while True:
            page = cast(HistoryAnswer, self._get("/v2/transferHistory", query))
            yield from page["history"]
            query["next_page_token"] = page["next_page_token"]
            if not page["next_page_token"]:
                return

    def events(
        self, *, transfer_id: str | None = None, account: str | None = None, last_id: str | None = None
    ) -> EventStream:
        """Every change of a transfer, or of a sender's or receiver's transfers, for as long as you iterate.

        :param last_id: the ``id`` of the last event that was handled: the stream goes on after it.
        """
        if (transfer_id is None) == (account is None):
            raise ValueError("give either transfer_id or account")
        about = {"transfer_id": transfer_id} if account is None else {"account": account}
        url = f"{self._base}/v2/transferEvents"
        return EventStream(self._http, url, {k: v for k, v in about.items() if v}, self._headers, last_id)

    def status(self, transfer_id: str, *, timeout: float | None = None) -> State:
        """``timeout`` is in seconds until ``httpx.TimeoutException``; by default that of ``http``."""
        options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        body = {"transfer_id": transfer_id}
        return _state(transfer_id, self._send("POST", "/v2/getTransferStatus", json=body, **options))

    def statuses(self, transfer_ids: Sequence[str]) -> StatusesAnswer:
        """Where up to 100 transfers are, all of one moment. Each has its own ``err``."""
        body = {"transfer_ids": [*transfer_ids]}
        return cast(StatusesAnswer, checked(self._send("POST", "/v2/getTransferStatuses", json=body)))

    def wait_status(
        self, transfer_id: str, after_status: int, seconds: int, *, timeout: float | None = None
    ) -> State:
        """The same, answered when the status is another one, or after so many seconds (at most 30)."""
        query = {"transfer_id": transfer_id, "after_status": after_status, "timeout": seconds}
        path = "/v2/waitTransferStatus"
        return _state(transfer_id, self._send("GET", path, params=query, timeout=timeout or seconds + 15))

    def find(self, key: str, lang: str | None = None) -> FindAnswer:
        """The transfers behind an id, or behind the hash of a transaction.

        :param lang: a language, such as ``es``: then each has its ``words`` for users in it.
        """
        query: dict[str, str | int] = {"key": key}
        if lang is not None:
            query["lang"] = lang
        return cast(FindAnswer, self._get("/v2/getTransfer", query))

    def evidence(self, transfer_id: str) -> EvidenceAnswer:
        """The evidence of a refund. ``evm.verify_evidence`` checks it."""
        return cast(EvidenceAnswer, self._get("/v2/getRefundEvidence", {"transfer_id": transfer_id}))

    def ask_for_refund(self, transfer_id: str) -> WithdrawAnswer:
        """Request the refund of a transfer at status 6. Another request changes nothing."""
        body = {"withdraw_req": b64encode(_refund_request(transfer_id, int(time.time()))).decode()}
        return cast(WithdrawAnswer, checked(self._send("POST", "/v2/withdrawLiquidity", json=body)))

    def webhooks(self) -> WebhooksAnswer:
        """The webhooks of the API key, the oldest first. Like the two below it needs a key."""
        return cast(WebhooksAnswer, self._get("/v2/webhooks", {}))

    def create_webhook(self, webhook: WebhookBody) -> WebhooksAnswer:
        """Have events posted to a URL. Store the ``secret`` of the answer: it is not shown again."""
        return cast(WebhooksAnswer, checked(self._send("POST", "/v2/webhooks", json=webhook)))

    def remove_webhook(self, webhook_id: str) -> WebhooksAnswer:
        """Have nothing more posted there; those that are left."""
        return cast(WebhooksAnswer, checked(self._send("DELETE", "/v2/webhooks", params={"id": webhook_id})))

    def _get(self, path: str, query: _Query) -> object:
        return checked(self._send("GET", path, params=query))

    def _send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        sent = {**self._headers, **(headers or {})}
        return self._http.request(method, self._base + path, headers=sent, **options)


def _estimate_query(question: EstimateQuestion) -> _Query:
    query: _Query = {"amt": str(question["amount"])}
    for name, value in question.items():
        if name != "amount" and value is not None:
            query[name] = str(value).lower() if isinstance(value, bool) else cast(str | int, value)
    return query


def _state(transfer_id: str, response: httpx.Response) -> State:
    answer = cast(StatusAnswer, checked(response))
    status, said = answer["status"], response.headers
    actor = "nobody" if status in TERMINAL else "user" if status in USERS_TURN else "network"
    seconds = said.get("X-Transfer-Next-Poll-Seconds", "")
    return State(
        transfer_id,
        answer,
        terminal=said.get("X-Transfer-Terminal", str(status in TERMINAL)).lower() == "true",
        next_actor=said.get("X-Transfer-Next-Actor", actor),
        next_poll_seconds=float(seconds) if seconds.isdecimal() else None,
        as_of=said.get("X-Transfer-As-Of"),
        final_by=said.get("X-Transfer-Final-By"),
    )


def _refund_request(transfer_id: str, number: int) -> bytes:
    """The message ``WithdrawReq`` of proto/refund.proto: xfer_id, req_id and withdraw_type."""
    name = transfer_id.encode()
    return b"\x0a" + bytes([len(name)]) + name + b"\x20" + _varint(number) + b"\x28" + _varint(REFUND)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
