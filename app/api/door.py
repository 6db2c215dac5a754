"""The paths, the schemas and the settings of the public HTTP door."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from flask import Flask, current_app
from marshmallow import Schema

from app.api.schemas import (
    CompatEstimateQuery,
    CompatStatusAnswer,
    EstimateAnswer,
    EstimateQuery,
    LatencyAnswer,
    LatencyQuery,
    PlainAnswer,
    ReadyAnswer,
    StatusAnswer,
    StatusBody,
    TransactionBody,
    VersionAnswer,
)
from app.estimates.schemas import ExplainedAnswer, LatencyStatsAnswer, LatencyStatsQuery
from app.network.schemas.config_answers import ConfigsAnswer
from app.refunds.schemas import EvidenceAnswer, EvidenceQuery, WithdrawAnswer, WithdrawBody
from app.transfers.schemas import (
    AnyFindQuery,
    AnyHistoryQuery,
    FindAnswer,
    HistoryAnswer,
    StatusesAnswer,
    StatusesBody,
)
from app.webhooks.schemas import WebhookBody, WebhookQuery, WebhooksAnswer

PREFIX: Final = "/v2"
LEGACY_PREFIX: Final = "/v1"
"""Existing clients call the same operations here. It is not documented (docs/interface.md#legacy-v1)."""

STATUS_PATH: Final = "/getTransferStatus"
ESTIMATE_PATH: Final = "/estimateAmt"
LATENCY_PATH: Final = "/getLatest7DayTransferLatencyForQuery"
HISTORY_PATH: Final = "/transferHistory"
FIND_PATH: Final = "/getTransfer"
STATUSES_PATH: Final = "/getTransferStatuses"
EXPLAIN_PATH: Final = "/explainEstimate"
LATENCY_STATS_PATH: Final = "/getTransferLatencyStats"
WAIT_PATH: Final = "/waitTransferStatus"
EVENTS_PATH: Final = "/transferEvents"
DOCS: Final = "docs"
"""The name of the blueprint that describes the operations."""
WAIT_DOOR: Final = "wait"
"""The name of the blueprint that has these two."""
EVIDENCE_PATH: Final = "/getRefundEvidence"
ASK_PATHS: Final = ("/withdrawLiquidity", "/withdrawLiquidity ")
"""One client writes a space after the path."""
WEBHOOKS_PATH: Final = "/webhooks"
CONFIGS_PATHS: Final = ("/getTransferConfigs", "/getTransferConfigsForAll")

_KEY: Final = "api"


@dataclass(frozen=True, slots=True)
class ApiDoor:
    """The settings, and one instance of each schema: making an instance takes a millisecond."""

    trusted_proxies: int
    compat_clients: bool
    status_answer: StatusAnswer
    estimate_query: EstimateQuery
    status_body: StatusBody = field(default_factory=StatusBody)
    transaction_body: TransactionBody = field(default_factory=TransactionBody)
    estimate_answer: EstimateAnswer = field(default_factory=EstimateAnswer)
    latency_query: LatencyQuery = field(default_factory=LatencyQuery)
    latency_answer: LatencyAnswer = field(default_factory=LatencyAnswer)
    history_query: AnyHistoryQuery = field(default_factory=AnyHistoryQuery)
    history_answer: HistoryAnswer = field(default_factory=HistoryAnswer)
    find_query: AnyFindQuery = field(default_factory=AnyFindQuery)
    find_answer: FindAnswer = field(default_factory=FindAnswer)
    statuses_body: StatusesBody = field(default_factory=StatusesBody)
    statuses_answer: StatusesAnswer = field(default_factory=StatusesAnswer)
    explained_answer: ExplainedAnswer = field(default_factory=ExplainedAnswer)
    latency_stats_query: LatencyStatsQuery = field(default_factory=LatencyStatsQuery)
    latency_stats_answer: LatencyStatsAnswer = field(default_factory=LatencyStatsAnswer)
    configs_answer: ConfigsAnswer = field(default_factory=ConfigsAnswer)
    evidence_query: EvidenceQuery = field(default_factory=EvidenceQuery)
    evidence_answer: EvidenceAnswer = field(default_factory=EvidenceAnswer)
    ask_body: WithdrawBody = field(default_factory=WithdrawBody)
    ask_answer: WithdrawAnswer = field(default_factory=WithdrawAnswer)
    webhook_body: WebhookBody = field(default_factory=WebhookBody)
    webhook_query: WebhookQuery = field(default_factory=WebhookQuery)
    webhooks_answer: WebhooksAnswer = field(default_factory=WebhooksAnswer)
    answers: dict[str, Schema] = field(default_factory=dict)
    """The shape of each public path's answer, for errors that are raised outside of its view."""

    @classmethod
    def make(cls, *, trusted_proxies: int, compat_clients: bool) -> ApiDoor:
        """A door for these settings."""
        door = cls(
            trusted_proxies=trusted_proxies,
            compat_clients=compat_clients,
            status_answer=CompatStatusAnswer() if compat_clients else StatusAnswer(),
            estimate_query=CompatEstimateQuery() if compat_clients else EstimateQuery(),
        )
        for path, shape in _answers(door):
            door.answers.update({PREFIX + path: shape, LEGACY_PREFIX + path: shape})
        return door


def _answers(door: ApiDoor) -> Iterator[tuple[str, Schema]]:
    """Each path and the shape of its answer, without the prefix."""
    yield STATUS_PATH, door.status_answer
    yield ESTIMATE_PATH, door.estimate_answer
    yield LATENCY_PATH, door.latency_answer
    yield HISTORY_PATH, door.history_answer
    yield FIND_PATH, door.find_answer
    yield STATUSES_PATH, door.statuses_answer
    yield EXPLAIN_PATH, door.explained_answer
    yield LATENCY_STATS_PATH, door.latency_stats_answer
    yield EVIDENCE_PATH, door.evidence_answer
    yield WEBHOOKS_PATH, door.webhooks_answer
    yield from ((path, door.configs_answer) for path in CONFIGS_PATHS)
    yield from ((path, door.ask_answer) for path in ASK_PATHS)


NOTHING_BUT_ERR: Final = PlainAnswer()

READY_PATH: Final = "/readyz"
READY: Final = ReadyAnswer()
VERSION_PATH: Final = "/version"
VERSION_SHAPE: Final = VersionAnswer()

_ALWAYS: Final = {READY_PATH: READY, VERSION_PATH: VERSION_SHAPE}
"""What every process answers, whichever doors it opens."""


def open_door(app: Flask, *, trusted_proxies: int, compat_clients: bool) -> ApiDoor:
    """The door of an application, made by the first who opens it: what waits shares it with what answers."""
    if _KEY not in app.extensions:
        app.extensions[_KEY] = ApiDoor.make(trusted_proxies=trusted_proxies, compat_clients=compat_clients)
    door = app.extensions[_KEY]
    assert isinstance(door, ApiDoor)  # noqa: S101  narrows the type of an untyped registry
    return door


def current_door() -> ApiDoor:
    """The door of the current application."""
    door = current_app.extensions[_KEY]
    assert isinstance(door, ApiDoor)  # noqa: S101  narrows the type of an untyped registry
    return door


def answer_shape(path: str) -> Schema:
    """The shape of a path's answer; ``err`` alone where the door does not have the path."""
    if path in _ALWAYS:
        return _ALWAYS[path]
    door = current_app.extensions.get(_KEY)
    return door.answers.get(path, NOTHING_BUT_ERR) if isinstance(door, ApiDoor) else NOTHING_BUT_ERR
