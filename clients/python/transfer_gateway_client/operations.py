"""The gateway's operations: each is described here once, and sent by ``Gateway`` or by ``AsyncGateway``."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NotRequired, TypedDict, TypeVar, cast

import httpx

from transfer_gateway_client.answers import checked
from transfer_gateway_client.types import (
    ConfigsAnswer,
    EstimateAnswer,
    EvidenceAnswer,
    ExplainedAnswer,
    FindAnswer,
    HistoryAnswer,
    LatencyAnswer,
    LatencyStatsAnswer,
    SendAnswer,
    StatusAnswer,
    StatusesAnswer,
    WebhookBody,
    WebhooksAnswer,
    WithdrawAnswer,
)

T = TypeVar("T")

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


class SendQuestion(TypedDict):
    """The parameters of a send, as those of an estimate. ``receiver``: the sender where it is left out.
    ``nonce``: a number of 64 bits. ``native``: the chain's own coin is sent, which the contract wraps.
    """

    src_chain_id: int
    dst_chain_id: int
    token_symbol: str
    amount: int
    slippage_tolerance: int
    sender: str
    receiver: NotRequired[str | None]
    nonce: NotRequired[int | None]
    native: NotRequired[bool | None]
    is_pegged: NotRequired[bool | None]


@dataclass(frozen=True)
class Request(Generic[T]):
    """What is sent, and how its answer is read. ``options`` are those of ``request`` of httpx."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class Configs:
    """The request for the transfer configs. An answer that has not changed is not loaded again."""

    def __init__(self) -> None:
        self._known: tuple[str, ConfigsAnswer] | None = None

    def request(self) -> Request[ConfigsAnswer]:
        known = self._known

        def read(response: httpx.Response) -> ConfigsAnswer:
            if known and response.status_code == httpx.codes.NOT_MODIFIED:
                return known[1]
            answer = cast(ConfigsAnswer, checked(response))
            if etag := response.headers.get("ETag"):
                self._known = etag, answer
            return answer

        headers = {"If-None-Match": known[0]} if known else {}
        return Request("GET", "/v2/getTransferConfigs", read, headers)


def estimate(question: EstimateQuestion) -> Request[EstimateAnswer]:
    return _get("/v2/estimateAmt", EstimateAnswer, _estimate_query(question))


def send_transaction(question: SendQuestion) -> Request[SendAnswer]:
    return _get("/v2/getSendTransaction", SendAnswer, _estimate_query(question))


def explain_estimate(question: EstimateQuestion) -> Request[ExplainedAnswer]:
    return _get("/v2/explainEstimate", ExplainedAnswer, _estimate_query(question))


def latency(src_chain_id: int, dst_chain_id: int) -> Request[float]:
    def read(response: httpx.Response) -> float:
        return cast(LatencyAnswer, checked(response))["median_transfer_latency_in_second"]

    query = {"src_chain_id": src_chain_id, "dst_chain_id": dst_chain_id}
    return Request("GET", "/v2/getLatest7DayTransferLatencyForQuery", read, options={"params": query})


def latency_stats(
    src_chain_id: int, dst_chain_id: int, token_symbol: str | None
) -> Request[LatencyStatsAnswer]:
    query: _Query = {"src_chain_id": src_chain_id, "dst_chain_id": dst_chain_id}
    if token_symbol is not None:
        query["token_symbol"] = token_symbol
    return _get("/v2/getTransferLatencyStats", LatencyStatsAnswer, query)


def history(accounts: str | Sequence[str], page_size: int, page: str) -> Request[HistoryAnswer]:
    """:param page: the ``next_page_token`` of the page before; empty for the first one."""
    names = accounts if isinstance(accounts, str) else ",".join(accounts)
    query: _Query = {"acct_addr": names, "page_size": page_size, "next_page_token": page}
    return _get("/v2/transferHistory", HistoryAnswer, query)


def status(transfer_id: str, timeout: float | None) -> Request[State]:
    options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    options["json"] = {"transfer_id": transfer_id}
    return Request("POST", "/v2/getTransferStatus", _state_of(transfer_id), options=options)


def statuses(transfer_ids: Sequence[str]) -> Request[StatusesAnswer]:
    return _post("/v2/getTransferStatuses", StatusesAnswer, {"transfer_ids": [*transfer_ids]})


def wait_status(transfer_id: str, after_status: int, seconds: int, timeout: float | None) -> Request[State]:
    query = {"transfer_id": transfer_id, "after_status": after_status, "timeout": seconds}
    options = {"params": query, "timeout": timeout or seconds + 15}
    return Request("GET", "/v2/waitTransferStatus", _state_of(transfer_id), options=options)


def find(key: str, lang: str | None) -> Request[FindAnswer]:
    query: _Query = {"key": key}
    if lang is not None:
        query["lang"] = lang
    return _get("/v2/getTransfer", FindAnswer, query)


def evidence(transfer_id: str) -> Request[EvidenceAnswer]:
    return _get("/v2/getRefundEvidence", EvidenceAnswer, {"transfer_id": transfer_id})


def ask_for_refund(transfer_id: str) -> Request[WithdrawAnswer]:
    body = {"withdraw_req": b64encode(_refund_request(transfer_id, int(time.time()))).decode()}
    return _post("/v2/withdrawLiquidity", WithdrawAnswer, body)


def webhooks() -> Request[WebhooksAnswer]:
    return _get("/v2/webhooks", WebhooksAnswer, {})


def create_webhook(webhook: WebhookBody) -> Request[WebhooksAnswer]:
    return _post("/v2/webhooks", WebhooksAnswer, webhook)


def remove_webhook(webhook_id: str) -> Request[WebhooksAnswer]:
    return Request("DELETE", "/v2/webhooks", _as(WebhooksAnswer), options={"params": {"id": webhook_id}})


def events(transfer_id: str | None, account: str | None) -> dict[str, str]:
    """The query of a stream."""
    if (transfer_id is None) == (account is None):
        raise ValueError("give either transfer_id or account")
    about = {"transfer_id": transfer_id} if account is None else {"account": account}
    return {name: value for name, value in about.items() if value}


def _get(path: str, answer: type[T], query: _Query) -> Request[T]:
    return Request("GET", path, _as(answer), options={"params": query})


def _post(path: str, answer: type[T], body: object) -> Request[T]:
    return Request("POST", path, _as(answer), options={"json": body})


def _as(answer: type[T]) -> Callable[[httpx.Response], T]:
    return lambda response: cast(T, checked(response))


def _estimate_query(question: EstimateQuestion | SendQuestion) -> _Query:
    query: _Query = {"amt": str(question["amount"])}
    for name, value in question.items():
        if name != "amount" and value is not None:
            query[name] = str(value).lower() if isinstance(value, bool) else cast(str | int, value)
    return query


def _state_of(transfer_id: str) -> Callable[[httpx.Response], State]:
    def read(response: httpx.Response) -> State:
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

    return read


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
