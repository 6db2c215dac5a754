"""A client of a transfer gateway: what a transfer would bring, where it is, and its refund.

``transfer_gateway_client.evm`` signs and sends, and needs the extra ``evm`` (web3). The rest does not.
"""

from __future__ import annotations

from transfer_gateway_client.answers import GatewayError
from transfer_gateway_client.events import AsyncEventStream, EventStream, Reset, StatusEvent
from transfer_gateway_client.gateway import AsyncGateway, EstimateQuestion, Gateway, State
from transfer_gateway_client.waiting import WaitTimeout, wait_until, wait_until_done
from transfer_gateway_client.ways import NoWay, Send, SlippageTooLow, Way, find_way, send_arguments, ways
from transfer_gateway_client.webhooks import WebhookError, verify_webhook

__all__ = [
    "AsyncEventStream",
    "AsyncGateway",
    "EstimateQuestion",
    "EventStream",
    "Gateway",
    "GatewayError",
    "NoWay",
    "Reset",
    "Send",
    "SlippageTooLow",
    "State",
    "StatusEvent",
    "WaitTimeout",
    "Way",
    "WebhookError",
    "find_way",
    "send_arguments",
    "verify_webhook",
    "wait_until",
    "wait_until_done",
    "ways",
]
