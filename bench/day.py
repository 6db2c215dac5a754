"""A day of all public bridges together, as docs/scaling.md#one-writer assumes it: which events are due when.

Pure: the same arguments give the same events. A share of the day has that part of its transfers, and all of
its heads and reorganisations, for there are as many chains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from hashlib import sha256
from math import pi, sin
from random import Random
from typing import Any, Final

import orjson
from msgspec import Struct

from app.transfers.rules.events.contract_ids import pool_transfer_id
from app.values.codes import XferStatus
from tests.builders import network as build

TRANSFERS: Final = 2_000_000
EVENTS_PER_TRANSFER: Final = 10
CHAINS: Final = range(1, 101)
MINUTES: Final = 24 * 60
BUSIEST: Final = 870
"""The minute with ``PEAK`` times the transfers of the mean minute."""

PEAK: Final = 20
LONGEST: Final = 120
"""Seconds from the first event of a transfer to its last one."""

REPORTERS: Final = 8
"""Each reports some of the chains, and what the validators say of some of the transfers."""

_BURST_EVERY: Final = 30
"""Minutes from one burst to the next. In a burst one chain has half of the minute's transfers."""

_REORGANISATIONS: Final = 1_000
"""A day, on any chains. In addition, the chain of a burst has one."""

_DEEPEST: Final = 5
_TOO_DEEP: Final = 2_000
"""Blocks; more than MAX_REORG_BLOCKS."""

_TOO_DEEP_IN: Final = 8
"""One in so many reorganisations is reported once more, too deep, which the feed refuses."""

_BLOCK_SECONDS: Final = 2
_HEAD_SECONDS: Final = 300
_AMOUNT: Final = 1_000_000
_VALIDATED: Final = (8, 24, 28, 32, 36, 40)
"""Seconds after its beginning at which the validators report the status of a transfer."""


class Due(Struct, frozen=True):
    """An event, as its reporter reports it.

    :param second: of the day, from which on it can be reported.
    :param paid: the transfer that it pays out, 0x and 64 hex digits; empty for other events.
    :param refused: whether the feed has to refuse it.
    """

    second: float
    reporter: int
    line: bytes
    paid: str
    refused: bool


class _Reorganisation(Struct, frozen=True):
    """The blocks of a chain from ``first`` on are replaced."""

    second: float
    chain: int
    first: int


def document() -> bytes:
    """The network document: one token on all chains, each with a pool and four routes to others."""
    token = "USDT"
    routes = [build.route(src, dst, token, base_fee="1000") for src in CHAINS for dst in _ways(src)]
    return build.text(
        build.document(
            chains=[build.chain(each, f"Chain {each}") for each in CHAINS],
            tokens=[build.token(each, token, _token(each), 6) for each in CHAINS],
            pools=[build.pool(each, token, "1000000000000000") for each in CHAINS],
            routes=routes,
        )
    )


@cache
def weights() -> Sequence[float]:
    """The part of the day's transfers in each minute: a wave, a burst in each half hour, and the peak."""
    parts = [1 + 0.5 * sin(2 * pi * minute / MINUTES) for minute in range(MINUTES)]
    for minute in filter(_is_burst, range(MINUTES)):
        parts[minute] *= Random(minute).uniform(2, 8)
    parts[BUSIEST] = 0.0
    parts[BUSIEST] = sum(parts) * PEAK / (MINUTES - PEAK)
    return [part / sum(parts) for part in parts]


def events_per_second(first: int, until: int) -> float:
    """Of all transfers, in the mean of the minutes from ``first`` to before ``until``."""
    return TRANSFERS * EVENTS_PER_TRANSFER * sum(weights()[first:until]) / (60 * (until - first))


def events_of_day(midnight: datetime, share: float, first: float, until: float) -> list[Due]:
    """The events of some seconds of the day, in the order in which they are due.

    :param share: of the transfers, up to 1. Those of a smaller share are among those of a larger one.
    """
    day = _Day(midnight)
    events = [*day.heads(first, until), *day.reports_of_reorganisations()]
    for minute in range(max(0, int(first - LONGEST) // 60), min(MINUTES, int(until) // 60 + 1)):
        events += day.transfers(minute, share)
    return sorted((each for each in events if first <= each.second < until), key=lambda each: each.second)


class _Day:
    def __init__(self, midnight: datetime) -> None:
        self._midnight = midnight
        self._reorganised: dict[int, list[_Reorganisation]] = {chain: [] for chain in CHAINS}
        draw = Random("reorganisations")
        moments = [(60 * minute + 40.0, _chain_of(minute)) for minute in filter(_is_burst, range(MINUTES))]
        moments += [(draw.uniform(0, 60 * MINUTES), draw.choice(CHAINS)) for _ in range(_REORGANISATIONS)]
        for second, chain in sorted(moments):
            replaced = _Reorganisation(second, chain, self._block(second) - draw.randrange(_DEEPEST))
            self._reorganised[chain].append(replaced)

    def heads(self, first: float, until: float) -> Iterator[Due]:
        for number in range(int(until - first) // _HEAD_SECONDS + 1):
            second = first + number * _HEAD_SECONDS
            for chain in CHAINS:
                yield self._event("chain.head", second, chain, "", {"chain_id": chain}, mined=second)

    def reports_of_reorganisations(self) -> Iterator[Due]:
        """Every one of the day, and those that are too deep."""
        all_of_them = [each for of_chain in self._reorganised.values() for each in of_chain]
        for number, each in enumerate(all_of_them):
            report = partial(self._event, "chain.reorged", each.second, each.chain)
            about, fields = f"{each.first} {each.second}", {"chain_id": each.chain, "from_block": each.first}
            yield report(about, fields)
            if number % _TOO_DEEP_IN == 0:
                deep = fields | {"from_block": each.first - _TOO_DEEP}
                yield report(f"{about} deep", deep, refused=True)

    def transfers(self, minute: int, share: float) -> Iterator[Due]:
        """The events of the transfers that begin in a minute."""
        draw, count = Random(minute), round(TRANSFERS * weights()[minute])
        sources = draw.choices(CHAINS, [1 / chain for chain in CHAINS], k=count)
        for n, usual in enumerate(sources):
            chosen, bursts, way, life = (draw.random() for _ in range(4))
            if chosen < share:
                src = _chain_of(minute) if _is_burst(minute) and bursts < 0.5 else usual
                route = src, _ways(src)[int(4 * way)]
                number, begun = minute * TRANSFERS + n, 60 * (minute + n / count)
                yield from self._transfer(number, route, begun, LONGEST * (1 + life) / 2)

    def _transfer(self, number: int, route: tuple[int, int], begun: float, life: float) -> Iterator[Due]:
        src, dst = route
        user = sha256(b"user %d" % (number % 100_003)).digest()[:20]
        ids = {"amount": _AMOUNT, "src_chain_id": src, "dst_chain_id": dst}
        ids["nonce"] = number + int(self._midnight.timestamp())
        key = pool_transfer_id(sender=user, receiver=user, token=bytes.fromhex(_token(src)[2:]), **ids)
        name, account, validators = f"0x{key.hex()}", f"0x{user.hex()}", key[0]
        of: dict[str, Any] = {"transfer_id": name}
        sends = of | ids | {"amount": str(_AMOUNT), "symbol": "USDT", "sender": account, "receiver": account}
        sends["src_tx_hash"] = f"0x{sha256(key).hexdigest()}"
        sent, paid = begun + 4, begun + life
        yield self._event("transfer.submitted", begun, validators, name, sends)
        sends |= {"kind": "pool", "token": _token(src)}
        yield from self._in_block("transfer.sent", sent, src, sent, sends)
        yield from self._in_block("transfer.confirmed", begun + 20, src, sent, of)
        for after in _VALIDATED:
            status = XferStatus.SUCCESS if after == _VALIDATED[-1] else XferStatus.OK_TO_RELAY
            fields = of | {"xfer_status": status}
            yield self._event("network.status", begun + after, validators, f"{name} {after}", fields)
        of["dst_tx_hash"] = f"0x{sha256(key[::-1]).hexdigest()}"
        yield from self._in_block("transfer.released", paid, dst, paid, of, paid=name)

    def _in_block(
        self, kind: str, second: float, chain: int, mined: float, fields: dict[str, Any], *, paid: str = ""
    ) -> Iterator[Due]:
        """What is reported of a chain's block, and again after each reorganisation that replaces it."""
        replaced = (each.second for each in self._reorganised[chain] if self._block(mined) >= each.first)
        for moment in (second, *(each for each in replaced if each >= second)):
            yield self._event(kind, moment, chain, fields["transfer_id"], fields, mined=mined, paid=paid)

    def _event(
        self,
        kind: str,
        second: float,
        reporter: int,
        about: str,
        fields: dict[str, Any],
        *,
        mined: float | None = None,
        paid: str = "",
        refused: bool = False,
    ) -> Due:
        """
        :param mined: second of its block, which is that of the chain ``reporter``.
        """
        if mined is not None:
            block, replaced = self._block(mined), self._reorganised[reporter]
            forks = sum(each.second <= second and each.first <= block for each in replaced)
            digest = sha256(b"%d %d %d" % (reporter, block, forks)).hexdigest()
            fields = fields | {"block": block, "block_hash": f"0x{digest}"}
            about = f"{digest[:16]} {about}"
        at = (self._midnight + timedelta(seconds=second)).isoformat()
        line = orjson.dumps({"id": f"{kind} {about}", "type": kind, "at": at} | fields)
        return Due(second, reporter % REPORTERS, line, paid, refused)

    def _block(self, second: float) -> int:
        """The newest block of every chain."""
        return int(self._midnight.timestamp() + second) // _BLOCK_SECONDS


def _is_burst(minute: int) -> bool:
    return minute % _BURST_EVERY == BUSIEST % _BURST_EVERY


def _chain_of(minute: int) -> int:
    """The chain of the burst in a minute."""
    return CHAINS[minute // _BURST_EVERY * 7 % len(CHAINS)]


def _ways(chain: int) -> list[int]:
    """Where transfers from a chain go."""
    return [CHAINS[(chain - 1 + step) % len(CHAINS)] for step in (1, 7, 19, 55)]


def _token(chain: int) -> str:
    return f"0x{chain:040}"
