"""The gateway's operations over HTTP. Answers are the gateway's JSON, typed as ``types`` has it.

``Gateway`` and ``AsyncGateway`` are two faces of ``operations``: the same methods, the second's are awaited.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Self, TypeVar, Unpack

import httpx

from transfer_gateway_client import operations
from transfer_gateway_client.events import AsyncEventStream, EventStream
from transfer_gateway_client.operations import (
    REFUND,
    TERMINAL,
    USERS_TURN,
    EstimateQuestion,
    Request,
    SendQuestion,
    State,
)
from transfer_gateway_client.types import (
    ConfigsAnswer,
    EstimateAnswer,
    EvidenceAnswer,
    ExplainedAnswer,
    FindAnswer,
    HistoryTransfer,
    LatencyStatsAnswer,
    SendAnswer,
    StatusesAnswer,
    WebhookBody,
    WebhooksAnswer,
    WithdrawAnswer,
)
from transfer_gateway_client.ways import Way, ways

__all__ = [
    "REFUND",
    "TERMINAL",
    "USERS_TURN",
    "AsyncGateway",
    "EstimateQuestion",
    "Gateway",
    "SendQuestion",
    "State",
]

T = TypeVar("T")

TIMEOUT = 20
"""Seconds to connect, and between two bytes of an answer."""


class _Face:
    """What both faces know of their gateway."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._configs = operations.Configs()

    def _sent(self, request: Request[Any]) -> dict[str, Any]:
        """The arguments of ``request`` of httpx."""
        headers = {**self._headers, **request.headers}
        return {
            "method": request.method,
            "url": self._base + request.path,
            "headers": headers,
            **request.options,
        }

    @property
    def _events(self) -> str:
        return f"{self._base}/v2/transferEvents"


class Gateway(_Face):
    """A gateway at a base address, such as ``https://gateway.example``.

    :param api_key: for callers with limits of their own.
    :param http: a client to use instead of an own one; the caller closes it.
    """

    def __init__(
        self, base_url: str, *, api_key: str | None = None, http: httpx.Client | None = None
    ) -> None:
        super().__init__(base_url, api_key)
        self._http = http or httpx.Client(timeout=TIMEOUT)
        self._owned = http is None

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
        return self._answer(self._configs.request())

    def ways(self) -> Iterator[Way]:
        """Every way that the gateway offers now, pegged ones first."""
        return ways(self.configs())

    def estimate(self, **question: Unpack[EstimateQuestion]) -> EstimateAnswer:
        """What a transfer would bring."""
        return self._answer(operations.estimate(question))

    def explain_estimate(self, **question: Unpack[EstimateQuestion]) -> ExplainedAnswer:
        """How an estimate of the same comes about. One that is refused is no error here: see ``refusal``."""
        return self._answer(operations.explain_estimate(question))

    def send_transaction(self, **question: Unpack[SendQuestion]) -> SendAnswer:
        """What a wallet signs to send a transfer. ``evm.get_quote`` verifies it, and can send it."""
        return self._answer(operations.send_transaction(question))

    def latency(self, src_chain_id: int, dst_chain_id: int) -> float:
        """The median time of transfers of the last seven days, in seconds.

        :raises GatewayError: ``no_latency_data``, where there was none.
        """
        return self._answer(operations.latency(src_chain_id, dst_chain_id))

    def latency_stats(
        self, src_chain_id: int, dst_chain_id: int, token_symbol: str | None = None
    ) -> LatencyStatsAnswer:
        """Median and percentiles of the same, in seconds; of one token where it is given."""
        return self._answer(operations.latency_stats(src_chain_id, dst_chain_id, token_symbol))

    def history(self, accounts: str | Sequence[str], *, page_size: int = 50) -> Iterator[HistoryTransfer]:
        """The transfers that these senders or receivers (up to 20) have, the newest first, page after
        page.
        """
        page = ""
        while True:
            answer = self._answer(operations.history(accounts, page_size, page))
            yield from answer["history"]
            page = answer["next_page_token"]
            if not page:
                return

    def events(
        self, *, transfer_id: str | None = None, account: str | None = None, last_id: str | None = None
    ) -> EventStream:
        """Every change of a transfer, or of a sender's or receiver's transfers, for as long as you iterate.

        :param last_id: the ``id`` of the last event that was handled: the stream goes on after it.
        """
        about = operations.events(transfer_id, account)
        return EventStream(self._http, self._events, about, self._headers, last_id)

    def status(self, transfer_id: str, *, timeout: float | None = None) -> State:
        """``timeout`` is in seconds until ``httpx.TimeoutException``; by default that of ``http``."""
        return self._answer(operations.status(transfer_id, timeout))

    def statuses(self, transfer_ids: Sequence[str]) -> StatusesAnswer:
        """Where up to 100 transfers are, all of one moment. Each has its own ``err``."""
        return self._answer(operations.statuses(transfer_ids))

    def wait_status(
        self, transfer_id: str, after_status: int, seconds: int, *, timeout: float | None = None
    ) -> State:
        """The same, answered when the status is another one, or after so many seconds (at most 30)."""
        return self._answer(operations.wait_status(transfer_id, after_status, seconds, timeout))

    def find(self, key: str, lang: str | None = None) -> FindAnswer:
        """The transfers behind an id, or behind the hash of a transaction.

        :param lang: a language, such as ``es``: then each has its ``words`` for users in it.
        """
        return self._answer(operations.find(key, lang))

    def evidence(self, transfer_id: str) -> EvidenceAnswer:
        """The evidence of a refund. ``evm.verify_evidence`` checks it."""
        return self._answer(operations.evidence(transfer_id))

    def ask_for_refund(self, transfer_id: str) -> WithdrawAnswer:
        """Request the refund of a transfer at status 6. Another request changes nothing."""
        return self._answer(operations.ask_for_refund(transfer_id))

    def webhooks(self) -> WebhooksAnswer:
        """The webhooks of the API key, the oldest first. Like the two below it needs a key."""
        return self._answer(operations.webhooks())

    def create_webhook(self, webhook: WebhookBody) -> WebhooksAnswer:
        """Have events posted to a URL. Store the ``secret`` of the answer: it is not shown again."""
        return self._answer(operations.create_webhook(webhook))

    def remove_webhook(self, webhook_id: str) -> WebhooksAnswer:
        """Have nothing more posted there; those that are left."""
        return self._answer(operations.remove_webhook(webhook_id))

    def _answer(self, request: Request[T]) -> T:
        return request.read(self._http.request(**self._sent(request)))


class AsyncGateway(_Face):
    """The same for asyncio: the methods of ``Gateway``, which describes each, are awaited.

    ``ways``, ``history`` and ``events`` are iterated with ``async for``. A call that is cancelled closes its
    connection.

    :param http: a client to use instead of an own one; the caller closes it. The own one has as many
        connections as there are calls at a time, for one that waits has its connection until it is answered.
    """

    def __init__(
        self, base_url: str, *, api_key: str | None = None, http: httpx.AsyncClient | None = None
    ) -> None:
        super().__init__(base_url, api_key)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._http = http or httpx.AsyncClient(timeout=TIMEOUT, limits=limits)
        self._owned = http is None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of its own client."""
        if self._owned:
            await self._http.aclose()

    async def configs(self) -> ConfigsAnswer:
        return await self._answer(self._configs.request())

    async def ways(self) -> AsyncIterator[Way]:
        for way in ways(await self.configs()):
            yield way

    async def estimate(self, **question: Unpack[EstimateQuestion]) -> EstimateAnswer:
        return await self._answer(operations.estimate(question))

    async def explain_estimate(self, **question: Unpack[EstimateQuestion]) -> ExplainedAnswer:
        return await self._answer(operations.explain_estimate(question))

    async def send_transaction(self, **question: Unpack[SendQuestion]) -> SendAnswer:
        return await self._answer(operations.send_transaction(question))

    async def latency(self, src_chain_id: int, dst_chain_id: int) -> float:
        return await self._answer(operations.latency(src_chain_id, dst_chain_id))

    async def latency_stats(
        self, src_chain_id: int, dst_chain_id: int, token_symbol: str | None = None
    ) -> LatencyStatsAnswer:
        return await self._answer(operations.latency_stats(src_chain_id, dst_chain_id, token_symbol))

    async def history(
        self, accounts: str | Sequence[str], *, page_size: int = 50
    ) -> AsyncIterator[HistoryTransfer]:
        page = ""
        while True:
            answer = await self._answer(operations.history(accounts, page_size, page))
            for transfer in answer["history"]:
                yield transfer
            page = answer["next_page_token"]
            if not page:
                return

    def events(
        self, *, transfer_id: str | None = None, account: str | None = None, last_id: str | None = None
    ) -> AsyncEventStream:
        about = operations.events(transfer_id, account)
        return AsyncEventStream(self._http, self._events, about, self._headers, last_id)

    async def status(self, transfer_id: str, *, timeout: float | None = None) -> State:
        return await self._answer(operations.status(transfer_id, timeout))

    async def statuses(self, transfer_ids: Sequence[str]) -> StatusesAnswer:
        return await self._answer(operations.statuses(transfer_ids))

    async def wait_status(
        self, transfer_id: str, after_status: int, seconds: int, *, timeout: float | None = None
    ) -> State:
        return await self._answer(operations.wait_status(transfer_id, after_status, seconds, timeout))

    async def find(self, key: str, lang: str | None = None) -> FindAnswer:
        return await self._answer(operations.find(key, lang))

    async def evidence(self, transfer_id: str) -> EvidenceAnswer:
        return await self._answer(operations.evidence(transfer_id))

    async def ask_for_refund(self, transfer_id: str) -> WithdrawAnswer:
        return await self._answer(operations.ask_for_refund(transfer_id))

    async def webhooks(self) -> WebhooksAnswer:
        return await self._answer(operations.webhooks())

    async def create_webhook(self, webhook: WebhookBody) -> WebhooksAnswer:
        return await self._answer(operations.create_webhook(webhook))

    async def remove_webhook(self, webhook_id: str) -> WebhooksAnswer:
        return await self._answer(operations.remove_webhook(webhook_id))

    async def _answer(self, request: Request[T]) -> T:
        return request.read(await self._http.request(**self._sent(request)))
