"""A week of completed transfers on a few pairs of chains, whose medians never change.

Time is cut into slots of three hours since 1970, and each pair has one transfer a slot, computed only from
pair and slot. Computed again it is the same event, so a sandbox can be refreshed without reading what it
holds. Of three slots in a row one transfer is faster than the pair's median, one takes exactly that long, one
is slower. So the median is the same for any slots in a seven-day window, and what the documentation prints
stays true.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.sandbox.catalogue import SANDBOX_LATENCIES
from app.sandbox.reports import PACES, Event, block_at, block_event
from app.sandbox.transfer_builder import SendDetails, TransferBuilder, nonce_at, send_details
from app.values.crypto import keccak256
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
    """Return the median of a pair with traffic, some minutes for any other."""
    for series in SERIES:
        if (series.typical.src_chain_id, series.typical.dst_chain_id) == (src_chain_id, dst_chain_id):
            return series.median
    return _UNUSUAL_LATENCY


def fresh_latencies(now: datetime, since: datetime) -> Iterator[Event]:
    """Yield the events of all transfers released after ``since`` and not after ``now``, a week at most.

    Overlapping calls yield equal events for what they share, so a caller that is not sure may request more.
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
    """Yield how far each chain has been read at ``now``: its newest block of that moment."""
    for chain_id in PACES:
        newest = block_at(chain_id, now)
        yield block_event("chain.head", str(chain_id), newest.mined_at, chain_id, chain_id=chain_id)


def _completed(series: Series, slot: int, start: datetime, latency: timedelta) -> TransferBuilder:
    percent = 50 + _noise(series, slot, "amount") % 101
    sent = replace(series.typical, amount=series.typical.amount * percent // 100)
    transfer_id = sent.contract_id(nonce_at(start))
    return TransferBuilder(transfer_id, sent, start).sent().released(latency)


def _latency(series: Series, slot: int) -> timedelta:
    """Return the median in every third slot, 10 to 40 % less in the one before, 10 to 90 % more after."""
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
