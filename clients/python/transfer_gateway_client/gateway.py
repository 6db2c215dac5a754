"""The gateway's operations over HTTP. Answers are the gateway's JSON, typed as ``types`` has it."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import httpx

from transfer_gateway_client.types import (
    ConfigsAnswer,
    EstimateAnswer,
    EvidenceAnswer,
    FindAnswer,
    StatusAnswer,
    WithdrawAnswer,
)

TERMINAL = frozenset({2, 5, 10})
"""Statuses after which nothing comes, for gateways that do not say so in a header."""

USERS_TURN = frozenset({6, 8})
"""Statuses that wait for the user."""

REFUND = 1
"""``withdraw_type`` of a request for a refund."""


class GatewayError(Exception):
    """The gateway answered with an ``err``, or with something that is no answer.

    ``reason`` is ``X-Gateway-Reason``, by which programs decide: code 500 has many causes. ``retry_after`` is
    in seconds, where the gateway says it.
    """

    def __init__(
        self, code: int, text: str, reason: str, http_status: int, retry_after: float | None
    ) -> None:
        super().__init__(f"{text} ({reason or http_status})")
        self.code, self.reason, self.http_status, self.retry_after = code, reason, http_status, retry_after

    @property
    def is_temporary(self) -> bool:
        """Whether the same question may be answered later."""
        return self.http_status == httpx.codes.TOO_MANY_REQUESTS or self.http_status >= 500


@dataclass(frozen=True)
class State:
    """Where a transfer is.

    ``terminal``: whether its end is final; ``final_by`` is then ``block``, or ``reported`` without one.
    ``next_actor`` is ``network``, ``user`` or ``nobody``. ``next_poll_seconds`` is when to ask again, and
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


class Gateway:
    """A gateway at a base address, such as ``https://gateway.example``.

    :param api_key: for callers with limits of their own.
    :param http: a client to use instead of an own one, which is closed by whoever made it.
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
        """Give up the connections, unless they are somebody else's."""
        if self._owned:
            self._http.close()

    def configs(self) -> ConfigsAnswer:
        """What can be transferred where. An answer that is still good is not loaded again."""
        known = self._configs
        response = self._send(
            "GET", "/v2/getTransferConfigs", headers={"If-None-Match": known[0]} if known else {}
        )
        if known and response.status_code == httpx.codes.NOT_MODIFIED:
            return known[1]
        answer = cast(ConfigsAnswer, _checked(response))
        if etag := response.headers.get("ETag"):
            self._configs = etag, answer
        return answer

    def estimate(
        self,
        *,
        src_chain_id: int,
        dst_chain_id: int,
        token_symbol: str,
        amount: int,
        slippage_tolerance: int,
        usr_addr: str | None = None,
        is_pegged: bool | None = None,
    ) -> EstimateAnswer:
        """What a transfer would bring.

        :param amount: in the source token's smallest unit.
        :param slippage_tolerance: in parts per million.
        """
        query: dict[str, str | int] = {
            "src_chain_id": src_chain_id,
            "dst_chain_id": dst_chain_id,
            "token_symbol": token_symbol,
            "amt": str(amount),
            "slippage_tolerance": slippage_tolerance,
        }
        if usr_addr is not None:
            query["usr_addr"] = usr_addr
        if is_pegged is not None:
            query["is_pegged"] = str(is_pegged).lower()
        return cast(EstimateAnswer, _checked(self._send("GET", "/v2/estimateAmt", params=query)))

    def status(self, transfer_id: str) -> State:
        """Where a transfer is."""
        return _state(
            transfer_id, self._send("POST", "/v2/getTransferStatus", json={"transfer_id": transfer_id})
        )

    def wait_status(self, transfer_id: str, after_status: int, seconds: int) -> State:
        """The same, answered when the status is another one, or after so many seconds (at most 30)."""
        query = {"transfer_id": transfer_id, "after_status": after_status, "timeout": seconds}
        path = "/v2/waitTransferStatus"
        return _state(transfer_id, self._send("GET", path, params=query, timeout=seconds + 15))

    def find(self, key: str) -> FindAnswer:
        """The transfers behind an id, or behind the hash of a transaction."""
        return cast(FindAnswer, _checked(self._send("GET", "/v2/getTransfer", params={"key": key})))

    def evidence(self, transfer_id: str) -> EvidenceAnswer:
        """The evidence of a refund. ``evm.verify_evidence`` checks it."""
        query = {"transfer_id": transfer_id}
        return cast(EvidenceAnswer, _checked(self._send("GET", "/v2/getRefundEvidence", params=query)))

    def ask_for_refund(self, transfer_id: str) -> WithdrawAnswer:
        """Tell the network that the refund is wanted. Ask at status 6 only; asking again does no harm."""
        body = {"withdraw_req": b64encode(_refund_request(transfer_id, int(time.time()))).decode()}
        return cast(WithdrawAnswer, _checked(self._send("POST", "/v2/withdrawLiquidity", json=body)))

    def _send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        sent = {**self._headers, **(headers or {})}
        return self._http.request(method, self._base + path, headers=sent, **options)


def _checked(response: httpx.Response) -> object:
    """The answer.

    :raises GatewayError: an ``err``, or no answer of a gateway.
    """
    try:
        answer = response.json()
        err = answer["err"]
    except (ValueError, KeyError, TypeError):
        answer, err = None, {"code": 500, "msg": f"no answer of a gateway: HTTP {response.status_code}"}
    if err is None and response.is_success:
        return answer
    err = err or {"code": 500, "msg": f"HTTP {response.status_code}"}
    after = response.headers.get("Retry-After", "")
    raise GatewayError(
        err["code"],
        err["msg"],
        response.headers.get("X-Gateway-Reason", ""),
        response.status_code,
        float(after) if after.isdecimal() else None,
    )


def _state(transfer_id: str, response: httpx.Response) -> State:
    answer = cast(StatusAnswer, _checked(response))
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
