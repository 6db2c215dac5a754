"""The sandbox's feed: every event behind its answers, in the order in which they happened."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import chain
from typing import Final

from app.sandbox.catalogue import SANDBOX_TRANSFERS, SandboxTransfer
from app.sandbox.durations import LATENCY_WINDOW, fresh_heads, fresh_latencies, usual_latency
from app.sandbox.made_up_network import decimals_of
from app.sandbox.refunds import VALIDATOR_KEYS, with_evidence
from app.sandbox.reports import Event, block_event, event
from app.sandbox.transfer_builder import TransferBuilder, send_details
from app.values.codes import XferStatus
from app.values.crypto import address_of, checksum_address, keccak256

_LIQUIDITY: Final = (
    # days ago, what, chain, token, whole tokens
    (6, "liquidity.added", 10, "USDT", 150_000),
    (4, "liquidity.withdrawn", 10, "USDT", 50_000),
    (5, "liquidity.added", 1, "USDT", 250_000),
    (3, "liquidity.withdrawn", 42161, "USDC", 120_000),
    (2, "liquidity.added", 8453, "USDC", 80_000),
    (1, "liquidity.added", 1, "WETH", 25),
)

_FEES: Final = (
    # minutes ago, token, source, destination, base fee in whole destination tokens
    (120, "USDC", 10, 137, "0.12"),  # its route's fee is valid for an hour, so no quote
    (10, "USDC", 1, 42161, "0.28"),
)

_ROTATED_CHAIN: Final = 10
_ROTATED_POWERS: Final = (320, 260, 190, 130, 100)


def sandbox_events(now: datetime) -> Iterator[Event]:
    """Yield all events of the sandbox, none later than ``now``, ordered by time.

    Load them once, into an empty database with the sandbox's network: made again at another time, the
    transfers with fixed ids would contradict themselves. Afterwards use :func:`fresh_events`. Raises
    ValueError when ``now`` has no offset.
    """
    now = _in_utc(now)
    transfers = sorted(SANDBOX_TRANSFERS, key=_user)  # the order of events at the same moment
    events = [
        *chain.from_iterable(_story(transfer, now) for transfer in transfers),
        *_liquidity(now),
        *_fees(now),
        _rotation(now),
        *fresh_events(now, now - LATENCY_WINDOW),
    ]
    yield from sorted(events, key=_time)


def fresh_events(now: datetime, since: datetime) -> Iterator[Event]:
    """Yield the events that a sandbox needs at ``now`` if it was last loaded or refreshed at ``since``, by
    time.

    They are the transfers completed since then, for the latencies, and how far every chain has been read.
    Made twice, they are the same events. Raises ValueError when a time has no offset.
    """
    now = _in_utc(now)
    yield from sorted(chain(fresh_latencies(now, _in_utc(since)), fresh_heads(now)), key=_time)


def _story(transfer: SandboxTransfer, now: datetime) -> list[Event]:
    """What happened to a transfer, step by step."""
    hours, minutes = map(int, transfer.ago.split(":"))
    route = transfer.src_chain_id, transfer.dst_chain_id
    builder = TransferBuilder(
        transfer.transfer_id,
        send_details(transfer.kind, transfer.sends, route, by=transfer.user),
        now - timedelta(hours=hours, minutes=minutes),
        src_tx_hash=transfer.src_tx_hash,
        dst_tx_hash=transfer.dst_tx_hash,
    )
    for step in transfer.steps:
        match step.split(" ", 1):
            case ["released"]:
                builder.released(usual_latency(*route))
            case ["network_status", status]:
                builder.network_status(XferStatus[status])
            case ["failed", reason]:
                builder.failed(reason)
            case ["evidence", signatures]:
                with_evidence(builder, int(signatures))
            case [plain]:
                getattr(builder, plain)()
    return builder.events


def _liquidity(now: datetime) -> Iterator[Event]:
    for days, kind, chain_id, symbol, tokens in _LIQUIDITY:
        amount = tokens * 10 ** decimals_of(chain_id, symbol)
        at = now - timedelta(days=days)
        yield block_event(kind, symbol, at, chain_id, chain_id=chain_id, symbol=symbol, amount=str(amount))
        if kind == "liquidity.withdrawn":
            used = "0x" + keccak256(f"sandbox withdrawal {chain_id} {symbol}".encode()).hex()
            yield block_event("withdraw.done", symbol, at, chain_id, chain_id=chain_id, withdraw_id=used)


def _fees(now: datetime) -> Iterator[Event]:
    for minutes, symbol, src, dst, tokens in _FEES:
        fee = Fraction(tokens) * 10 ** decimals_of(dst, symbol)
        yield event(
            "fee.updated",
            f"{symbol}:{src}:{dst}",
            now - timedelta(minutes=minutes),
            symbol=symbol,
            src_chain_id=src,
            dst_chain_id=dst,
            base_fee=str(int(fee)),
        )


def _rotation(now: datetime) -> Event:
    """Return a rotation of a chain's validators: the same signers, a little power moved."""
    members = sorted(zip((address_of(key) for key in VALIDATOR_KEYS), _ROTATED_POWERS, strict=True))
    return block_event(
        "validators.updated",
        str(_ROTATED_CHAIN),
        now - timedelta(days=5),
        _ROTATED_CHAIN,
        chain_id=_ROTATED_CHAIN,
        signers=[checksum_address(signer) for signer, _ in members],
        powers=[str(power * 10**24) for _, power in members],
    )


def _user(transfer: SandboxTransfer) -> int:
    return transfer.user


def _time(event: Event) -> str:
    return str(event["at"])


def _in_utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("the sandbox needs a time with an offset")
    return at.astimezone(UTC)
