"""The sandbox's feed: every event behind its answers, in the order in which they happened.

A week of completed transfers on a few pairs of chains has medians that never change. Time is cut into slots
of three hours since 1970, and each pair has one transfer a slot, computed only from pair and slot. Computed
again it is the same event, so a sandbox can be refreshed without reading what it holds. Of three slots in a
row one transfer is faster than the pair's median, one takes exactly that long, one is slower. So the median
is the same for any slots in a seven-day window, and what the documentation prints stays true.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.sandbox.catalogue import SANDBOX_LATENCIES, SANDBOX_TRANSFERS, SandboxTransfer, decimals_of
from app.sandbox.reports import PACES, Event, block_at, block_event, event
from app.sandbox.transfer_builder import (
    VALIDATOR_KEYS,
    SendDetails,
    TransferBuilder,
    nonce_at,
    send_details,
    with_evidence,
)
from app.values.codes import XferStatus
from app.values.crypto import address_of, checksum_address, keccak256
from app.values.times import UNIX_EPOCH

LATENCY_WINDOW: Final = timedelta(days=7)

_SLOT: Final = timedelta(hours=3)
_STAGGER: Final = timedelta(minutes=7)
_UNUSUAL_LATENCY: Final = timedelta(minutes=4)


class Series(Struct, frozen=True):
    """A pair of chains with traffic: a typical transfer, and the median time that one takes."""

    typical: SendDetails
    median: timedelta


SERIES: Final = tuple(
    Series(send_details(each.kind, each.sends, (each.src_chain_id, each.dst_chain_id), by=100), each.median)
    for each in SANDBOX_LATENCIES
)


def usual_latency(src_chain_id: int, dst_chain_id: int) -> timedelta:
    """The median of a pair with traffic, some minutes for any other."""
    for series in SERIES:
        if (series.typical.src_chain_id, series.typical.dst_chain_id) == (src_chain_id, dst_chain_id):
            return series.median
    return _UNUSUAL_LATENCY


def fresh_latencies(now: datetime, since: datetime) -> Iterator[Event]:
    """The events of all transfers released after ``since`` and not after ``now``, a week at most.

    Overlapping calls yield equal events for what they share.
    """
    since = max(since, now - LATENCY_WINDOW)
    for position, series in enumerate(SERIES):
        # The slowest release comes less than a slot after its send, the first send within its slot.
        slot = (since - UNIX_EPOCH) // _SLOT - 2
        while (start := UNIX_EPOCH + slot * _SLOT + position * _STAGGER) <= now:
            latency = _latency(series, slot)
            if since < start + latency <= now:
                yield from _completed(series, slot, start, latency).events
            slot += 1


def fresh_heads(now: datetime) -> Iterator[Event]:
    """The newest block of each chain at ``now``."""
    for chain_id in PACES:
        newest = block_at(chain_id, now)
        yield block_event("chain.head", str(chain_id), newest.mined_at, chain_id, chain_id=chain_id)


def _completed(series: Series, slot: int, start: datetime, latency: timedelta) -> TransferBuilder:
    percent = 50 + _noise(series, slot, "amount") % 101
    sent = replace(series.typical, amount=series.typical.amount * percent // 100)
    transfer_id = sent.contract_id(nonce_at(start))
    return TransferBuilder(transfer_id, sent, start).sent().released(latency)


def _latency(series: Series, slot: int) -> timedelta:
    """The median in every third slot, 10 to 40 % less in the one before, 10 to 90 % more after."""
    noise = _noise(series, slot, "latency")
    match slot % 3:
        case 0:
            return series.median - series.median * (100_000 + noise % 300_001) // 1_000_000
        case 1:
            return series.median
        case _:
            return series.median + series.median * (100_000 + noise % 800_001) // 1_000_000


def _noise(series: Series, slot: int, of: str) -> int:
    pair = f"{series.typical.src_chain_id} {series.typical.dst_chain_id}"
    return int.from_bytes(keccak256(f"sandbox {of} {pair} {slot}".encode())[:8], "big")


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
    """All events of the sandbox, none later than ``now``, ordered by time.

    Load them once, into an empty database with the sandbox's network: made again at another time, the
    transfers with fixed ids would contradict themselves. Afterwards use :func:`fresh_events`.

    :raises ValueError: ``now`` has no offset.
    """
    now = _in_utc(now)
    transfers = sorted(SANDBOX_TRANSFERS, key=attrgetter("user"))  # the order of events at the same moment
    events = [
        *chain.from_iterable(_story(transfer, now) for transfer in transfers),
        *_liquidity(now),
        *_fees(now),
        _rotation(now),
        *fresh_events(now, now - LATENCY_WINDOW),
    ]
    yield from sorted(events, key=_time)


def fresh_events(now: datetime, since: datetime) -> Iterator[Event]:
    """The events that a sandbox needs at ``now`` if it was last loaded or refreshed at ``since``, by time.

    They are the transfers completed since then, for the latencies, and how far every chain has been read.
    Made twice, they are the same events.

    :raises ValueError: a time has no offset.
    """
    now = _in_utc(now)
    yield from sorted(chain(fresh_latencies(now, _in_utc(since)), fresh_heads(now)), key=_time)


def story_steps(story: SandboxTransfer, builder: TransferBuilder) -> list[list[Event]]:
    """The events of each step of a story, made by the builder of the transfer that it happens to."""
    steps: list[list[Event]] = []
    for step in story.steps:
        before = len(builder.events)
        match step.split(" ", 1):
            case ["released"]:
                builder.released(usual_latency(story.src_chain_id, story.dst_chain_id))
            case ["network_status", status]:
                builder.network_status(XferStatus[status])
            case ["failed", reason]:
                builder.failed(reason)
            case ["evidence", signatures]:
                with_evidence(builder, int(signatures))
            case [plain]:
                getattr(builder, plain)()
        steps.append(builder.events[before:])
    return steps


def _story(transfer: SandboxTransfer, now: datetime) -> list[Event]:
    hours, minutes = map(int, transfer.ago.split(":"))
    builder = TransferBuilder(
        transfer.transfer_id,
        send_details(transfer.kind, transfer.sends, transfer.route, by=transfer.user),
        now - timedelta(hours=hours, minutes=minutes),
        src_tx_hash=transfer.src_tx_hash,
        dst_tx_hash=transfer.dst_tx_hash,
    )
    story_steps(transfer, builder)
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
    """The same signers, a little power moved."""
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


def _time(event: Event) -> str:
    return str(event["at"])


def _in_utc(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("the sandbox needs a time with an offset")
    return at.astimezone(UTC)
