"""Random feeds: what honest and hostile reporters say of a few transfers, lost, repeated, reorganised, shuffled."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from app.values.crypto import keccak256, sign_digest
from tests.feed.oracle.evidence import digest, encode, withdraw_id
from tests.feed.oracle.facts import Chains
from tests.feed.oracle.reading import computed_ids, is_proven, read
from tests.feed.oracle.world import (
    CHAINS,
    DECIMALS,
    KEYS,
    NOW,
    PEGGED,
    SIGNERS,
    World,
    address,
    bridge,
    mint,
    network,
    token,
    vault,
)

REPORTERS: Final[dict[str, Chains]] = {
    "all": None,
    "all too": None,
    "of 1": frozenset({1}),
    "of 2": frozenset({2}),
    "of 3": frozenset({3}),
    "of 1 and 2": frozenset({1, 2}),
    "of 2 and 3": frozenset({2, 3}),
}
"""The chains that their tokens are limited to."""

WORLD: Final = World(network())
Line = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """A line of a reporter. ``joins`` the lines before it in one post, where those are by the same."""

    reporter: str
    line: Line
    joins: bool = False


@dataclass(frozen=True)
class Retract:
    """An operator takes back what has this id about the transfer, or about the chain."""

    event_id: str
    subject: str | int


@dataclass(frozen=True)
class TakeBack:
    """An operator retracts the latest retraction."""


@dataclass(frozen=True)
class Ask:
    """The user asks for the refund."""

    transfer_id: str


@dataclass(frozen=True)
class Wait:
    """The clock goes on."""

    seconds: int


@dataclass(frozen=True)
class Again:
    """A reporter sends its whole log again, so many times."""

    reporter: str
    times: int


Item = Told | Retract | TakeBack | Ask | Wait | Again


@dataclass
class Story:
    """One transfer, and all that is true or false of it.

    :ivar lines: with every field.
    """

    rng: random.Random
    n: int
    lines: list[Line] = field(default_factory=list)
    lies: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng
        self.kind = rng.choice(["pool", "pool", "pool", "deposit", "burn"])
        if self.kind == "pool":
            self.symbol = "USDT"
            self.source, self.destination = rng.sample(CHAINS, 2) if rng.random() < 0.5 else (1, 2)
            self.contract = bridge(self.source)
        else:
            self.symbol = rng.choice(list(PEGGED))
            two = PEGGED[self.symbol]
            self.source, self.destination = two if self.kind == "deposit" else two[::-1]
            self.contract = vault(self.symbol) if self.kind == "deposit" else mint(self.symbol)
        self.token = token(self.source, self.symbol)
        self.amount = rng.choice([1000, 10**6, 5_000_001])
        self.sender = address(rng.choice([0xAB, 0xABC]) << 40)
        self.block = rng.randrange(10, 16)
        self.paid_in = rng.randrange(20, 26)
        self.began = rng.randrange(-5000, -1000)
        self._tell()

    def hash(self, what: object) -> str:
        return "0x" + keccak256(f"{self.n} {what}".encode()).hex()

    def add(self, event_type: str, at: float, event_id: str | None = None, **fields: Any) -> Line:
        when = (NOW + timedelta(seconds=self.began + at)).isoformat()
        line = {
            "id": event_id or f"{event_type} {self.n}",
            "type": event_type,
            "at": when,
            "transfer_id": self.id,
        }
        self.lines.append(line | fields)
        return self.lines[-1]

    def log_id(self, chain_id: int, block: int, what: object, index: int, more: str = "") -> str:
        return f"{chain_id}:{self.hash(('block', block))}:{self.hash(what)}:{index}{more}"

    def _tell(self) -> None:
        rng = self.rng
        send: Line = {
            "kind": self.kind,
            "src_chain_id": self.source,
            "dst_chain_id": self.destination,
            "symbol": self.symbol,
            "token": self.token,
            "amount": str(self.amount),
            "sender": self.sender,
            "receiver": rng.choice([self.sender, address(0xFEED)]),
            "src_tx_hash": self.hash("send"),
            "nonce": self.n + 10,
            "max_slippage": 5000,
            "contract": self.contract,
            "block": self.block,
            "block_hash": self.hash(("block", self.block)),
            "log_index": 4,
        }
        self.id = "0x" + "00" * 32
        at = NOW.isoformat()
        self.id = next(
            computed_ids(
                read({"id": "", "type": "transfer.sent", "at": at, "transfer_id": self.id} | send, WORLD)
            )
        )
        is_proven = rng.random() < 0.8
        if not is_proven:
            send = {name: value for name, value in send.items() if name not in ("nonce", "contract")}
            self.id = self.hash("a chain that computes no ids") if rng.random() < 0.5 else self.id
        self.add("transfer.sent", 0, self.log_id(self.source, self.block, "send", 4), **send)
        other = {
            "src_tx_hash": self.hash("send again"),
            "block": self.block + 1,
            "block_hash": self.hash("other"),
        }
        self.add("transfer.sent", rng.choice([0, 12, -12]), f"sent in another block {self.n}", **send | other)
        if is_proven:
            less = {name: value for name, value in send.items() if name not in ("nonce", "contract")}
            self.add(
                "transfer.sent", -1, f"unproven {self.n}", **less | {"src_tx_hash": self.hash("unproven")}
            )
        self._tell_progress()
        self._tell_refund()
        self._lie()

    def _on(self, chain_id: int, block: int, wrong: int) -> Line:
        """Where a log was read; sometimes on another chain than the transfer's own."""
        read_on = wrong if self.rng.random() < 0.15 else chain_id
        return {"chain_id": read_on, "block": block, "log_index": self.rng.randrange(9)}

    def _tell_progress(self) -> None:
        rng, source, destination = self.rng, self.source, self.destination
        sender = {"symbol": self.symbol, "amount": str(self.amount), "sender": self.sender}
        announced = {"src_chain_id": source, "dst_chain_id": destination, "src_tx_hash": self.hash("send")}
        self.add("transfer.submitted", -30, f"announced {self.n}", **announced, **sender)
        self.add(
            "transfer.submitted",
            -20,
            f"announced again {self.n}",
            **announced | {"src_tx_hash": self.hash("first")},
        )
        at_send = self._on(source, self.block, destination)
        self.add(
            "transfer.confirmed",
            0,
            self.log_id(source, self.block, "send", 4, ":transfer.confirmed"),
            **at_send,
        )
        self.add("transfer.failed", 3, reason="reverted", **self._on(source, self.block, destination))
        for value in rng.sample(range(1, 10), 3):
            self.add("network.status", rng.randrange(40, 60), f"word {self.n} {value}", xfer_status=value)
        queued = self._on(destination, self.paid_in, source)
        paid = self._on(destination, self.paid_in + 1, source)
        self.add(
            "transfer.delayed", 90, dst_tx_hash=self.hash("delayed"), delayed_id=self.hash("queue"), **queued
        )
        units = (
            self.amount * 10 ** DECIMALS[destination] // 10 ** DECIMALS[source]
            if self.kind == "pool"
            else self.amount
        )
        release = {"dst_tx_hash": self.hash("paid"), "amount": str(max(1, units * 99 // 100)), **paid}
        self.add(
            "transfer.released",
            rng.choice([120, 120.25, 3000]),
            self.log_id(destination, self.paid_in, "paid", 2),
            **release,
        )
        self.add(
            "transfer.released",
            rng.choice([130, 110]),
            f"paid twice {self.n}",
            **release | {"dst_tx_hash": self.hash("twice")},
        )

    def _tell_refund(self) -> None:
        rng, source = self.rng, self.source
        self.add("refund.requested", 200)
        requests = [
            self.request(),
            self.request(amount=self.amount - 1),
            self.request(amount=self.amount + 1),
        ]
        for number, request in enumerate(rng.sample(requests, rng.randrange(1, 3))):
            self.add("refund.prepared", 210, f"request {self.n} {number}", wd_onchain=_base64(request))
            for key in rng.sample(range(len(KEYS)), rng.randrange(2, len(KEYS) + 1)):
                signed = digest(self.kind, source, self.contract, request)
                signature = _base64(sign_digest(signed, KEYS[key]))
                self.add(
                    "refund.signed", 220 + key, f"signature {self.n} {number} {key}", signature=signature
                )
        claim = self.hash("claim")
        self.add("refund.submitted", 300, tx_hash=claim, **self._on(source, 30, self.destination))
        self.add(
            "refund.failed",
            310,
            tx_hash=rng.choice([claim, claim, self.hash("another")]),
            **self._on(source, 31, 3),
        )
        self.add(
            "refund.delayed",
            320,
            tx_hash=self.hash("queued"),
            delayed_id=self.hash("q"),
            **self._on(source, 31, 3),
        )
        self.add("refund.completed", 400, tx_hash=claim, **self._on(source, 32, self.destination))

    def request(self, **changes: int) -> bytes:
        """A refund request; ``seqnum`` is the same for several transfers, so their withdraw ids may be."""
        values = {"amount": self.amount, "seqnum": 5} | changes
        return encode(
            self.kind,
            chain=self.source,
            of=bytes.fromhex(self.id[2:]),
            receiver=bytes.fromhex(self.sender[2:]),
            token=bytes.fromhex(self.token[2:]),
            account=bytes(20),
            **values,
        )

    def _lie(self) -> None:
        """What the bearer of a token of another chain can say, under its own ids or under true ones."""
        self.lines, true = [], self.lines
        foreign = self.rng.choice([each for each in CHAINS if each != self.source])
        early = -4000
        hers = {
            "src_chain_id": foreign,
            "dst_chain_id": self.source,
            "src_tx_hash": self.hash("lie"),
            "sender": address(0xBAD),
        }
        self.add("transfer.submitted", early, f"lie {self.n}", **hers)
        self.add("transfer.submitted", early, f"announced {self.n}", **hers)
        on = {"chain_id": foreign, "block": 1}
        self.add("transfer.released", early, f"lie {self.n} paid", dst_tx_hash=self.hash("lie"), **on)
        self.add("transfer.failed", early, f"lie {self.n} failed", **on)
        self.add("refund.completed", early, f"lie {self.n} refunded", **on)
        self.add("network.status", 999, f"lie {self.n} word", xfer_status=4)
        taken = self.rng.sample(true, 5)
        self.lies = [
            each | {"id": other["id"]} for each, other in zip(self.lines, taken, strict=False)
        ] + self.lines
        self.lines = true


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


ON_CHAIN: Final = {"chain_id", "block", "block_hash", "log_index"}
OPTIONAL: Final = {
    "transfer.submitted": {"src_tx_hash", "dst_chain_id", "symbol", "amount", "sender", "receiver"},
    "transfer.sent": {"symbol", "token", "nonce", "max_slippage", "contract", *(ON_CHAIN - {"chain_id"})},
    "transfer.failed": {"reason", *ON_CHAIN},
    "transfer.delayed": {"dst_tx_hash", "delayed_id", *ON_CHAIN},
    "transfer.released": {"amount", *ON_CHAIN},
    "refund.delayed": {"tx_hash", *ON_CHAIN},
    "refund.completed": {"tx_hash", *ON_CHAIN},
}
"""Fields that a report may lack. Of a chain's own events these are the places in a block."""
PROVING: Final = {"nonce", "token", "contract"}


FOCUSES: Final = (
    ("transfer.sent", "refund.prepared", "refund.signed", "network.status"),
    ("transfer.sent", "transfer.submitted", "transfer.confirmed", "transfer.failed"),
    ("transfer.sent", "transfer.released", "transfer.delayed"),
    ("transfer.", "network."),
)
"""Some feeds are about a part of a transfer's life, so that what belongs together meets more often."""


class Generator:
    """Makes the feed of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.stories = [Story(self.rng, n) for n in range(self.rng.choice([1, 1, 2, 3]))]

    def feed(self) -> list[Item]:
        rng = self.rng
        items: list[Item] = list(self._reports())
        for line in self._of_chains():
            for reporter in self._reporters():
                items.insert(rng.randrange(len(items) + 1), Told(reporter, self._said(line, reporter)))
        if rng.random() < 0.05:
            items = items[: rng.randrange(2, 8)]
        for change in rng.choices(
            [self._reorganise, self._retract, self._send_again, self._ask, self._wait, self._rotate],
            k=rng.randrange(5),
        ):
            items = change(items)
        if rng.random() < 0.02:
            items = [*items[:12], Again(rng.choice(["all", "of 1 and 2"]), 258)]
        return [replace(each, joins=rng.random() < 0.7) if isinstance(each, Told) else each for each in items]

    def _reports(self) -> list[Told]:
        """What reporters say of the transfers: each leaves out what it lost, and says it as it likes."""
        rng = self.rng
        told = []
        share = rng.choice([0.2, 0.4, 0.7])
        focus = rng.choice([*FOCUSES, (), ()])
        without = set(
            rng.sample(
                ["transfer.sent", "transfer.released", "refund.completed", "transfer.delayed"],
                rng.randrange(4),
            )
        )
        for story in self.stories:
            for line in story.lines:
                if focus and not line["type"].startswith(focus):
                    continue
                if line["type"] in without and rng.random() < 0.8 or rng.random() > share:
                    continue
                told += [Told(reporter, self._said(line, reporter)) for reporter in self._reporters()]
            if rng.random() < 0.4:
                for lie in rng.sample(story.lies, rng.randrange(1, 4)):
                    told.append(
                        Told(rng.choice(["of 1", "of 2", "of 3", "of 2 and 3"]), self._said(lie, "all"))
                    )
        if rng.random() < 0.7:
            rng.shuffle(told)
        return told

    def _reporters(self) -> Sequence[str]:
        some = self.rng.choice([["all"], ["all"], ["all", "all too"], ["all", "of 1 and 2"], list(REPORTERS)])
        return self.rng.sample(some, self.rng.randrange(1, min(len(some), 3) + 1))

    def _said(self, line: Line, reporter: str) -> Line:
        """The line in the words of one reporter: other spellings, and fields that it does not know."""
        rng = self.rng
        may_miss = OPTIONAL.get(line["type"], ON_CHAIN)
        if "transfer_id" not in line:
            may_miss = may_miss - {"chain_id"}
        if REPORTERS[reporter] is not None and line["type"] == "transfer.sent":
            may_miss = may_miss - PROVING
        if rng.random() < 0.3:
            may_miss = set()
        missing = {name for name in may_miss if rng.random() < 0.25}
        if {"token", "symbol"} <= missing:
            missing.discard("symbol")
        said = {name: value for name, value in line.items() if name not in missing}
        return _respelled(said, rng) if rng.random() < 0.3 else said

    def _of_chains(self) -> list[Line]:
        """Rotations, liquidity and withdraw ids."""
        rng = self.rng
        lines: list[Line] = []
        for n in range(rng.choice([0, 0, 1, 2, 3])):
            chain_id = rng.choice([1, 1, 2, 3])
            members = rng.sample(range(len(KEYS)), rng.randrange(1, 4))
            powers = [str(rng.choice([1, 10, 300])) for _ in members]
            at = (NOW + timedelta(seconds=rng.randrange(-900, -1))).isoformat()
            where = rng.choice([{}, {"block": 40 + n, "log_index": n}])
            rotation = {"id": f"rotation {n}", "type": "validators.updated", "at": at, "chain_id": chain_id}
            lines.append(
                rotation | {"signers": [SIGNERS[each] for each in members], "powers": powers} | where
            )
        for n in range(rng.choice([0, 0, 0, 1, 2])):
            what = rng.choice(["liquidity.added", "liquidity.withdrawn", "withdraw.done"])
            story = rng.choice(self.stories)
            line = {
                "id": f"of a pool {n}",
                "type": what,
                "at": NOW.isoformat(),
                "chain_id": story.source,
                "block": 33 + n,
            }
            used = withdraw_id(
                {
                    "chain": story.source,
                    "seqnum": 5,
                    "receiver": bytes.fromhex(story.sender[2:]),
                    "token": bytes.fromhex(story.token[2:]),
                    "amount": story.amount,
                }
            )
            if what == "withdraw.done":
                lines.append(
                    line
                    | {"withdraw_id": used}
                    | rng.choice([{}, {"ref_id": story.id}, {"ref_id": "0x" + "77" * 32}])
                )
            else:
                more = {"withdraw_id": used} if what == "liquidity.withdrawn" and rng.random() < 0.5 else {}
                lines.append(line | {"symbol": "USDT", "amount": "7000"} | more)
        return lines

    # What happens to a feed.

    def _reorganise(self, items: list[Item]) -> list[Item]:
        """A chain takes blocks back; then some, all or none of what was said before is said again."""
        rng = self.rng
        place = rng.randrange(len(items) + 1)
        said = [each for each in items[:place] if isinstance(each, Told)]
        chain_id, block = (
            rng.choice([1, 1, 2, 3]),
            rng.choice([10, 12, 14, 16, 20, 22, 24, 30, 31, 33, 40, 41]),
        )
        line = {
            "id": f"reorg {chain_id} {block}",
            "type": "chain.reorged",
            "at": NOW.isoformat(),
            "chain_id": chain_id,
        }
        reporter = rng.choice(
            [name for name, chains in REPORTERS.items() if chains is None or chain_id in chains]
        )
        reorg = Told(reporter, line | {"from_block": block})
        again = rng.choice([[], said, [each for each in said if rng.random() < 0.5]])
        return [*items[:place], reorg, *again, *items[place:]]

    def _retract(self, items: list[Item]) -> list[Item]:
        rng = self.rng
        place = rng.randrange(len(items) + 1)
        said = [each for each in items[:place] if isinstance(each, Told)]
        if not said:
            return items
        signatures = [each for each in said if each.line["type"] == "refund.signed"]
        chosen = rng.choice(signatures if signatures and rng.random() < 0.3 else said)
        subject = chosen.line.get("transfer_id") or chosen.line["chain_id"]
        done: list[Item] = [Retract(chosen.line["id"], subject)]
        later = rng.choice(
            [[], [], [TakeBack()], [chosen], [chosen, chosen], rng.sample(said, len(said) // 2)]
        )
        return [*items[:place], *done, *later, *items[place:]]

    def _rotate(self, items: list[Item]) -> list[Item]:
        """After all that was said, some who signed become the validators; what is said again is what fell."""
        story = self.rng.choice(self.stories)
        signed = [each for each in story.lines if each["type"] == "refund.signed"]
        keys = {int(each["id"].split()[-1]) for each in self.rng.sample(signed, self.rng.randrange(1, 3))}
        line = {"id": "rotation to who signed", "type": "validators.updated", "chain_id": story.source}
        members = {"signers": [SIGNERS[key] for key in sorted(keys)], "powers": ["1"] * len(keys)}
        told = [each for each in items if isinstance(each, Told) and each.line["type"] == "refund.signed"]
        done: list[Item] = []
        if told and self.rng.random() < 0.5:
            again = self.rng.choice(told)
            done = [Retract(again.line["id"], again.line["transfer_id"]), again]
        return [*items, *done, Told("all", line | members | {"at": NOW.isoformat(), "block": 50})]

    def _send_again(self, items: list[Item]) -> list[Item]:
        """A reporter sends its whole log, to its end."""
        place = self.rng.randrange(len(items) + 1)
        return [
            *items[:place],
            Again(self.rng.choice(list(REPORTERS)), self.rng.choice([1, 1, 2])),
            *items[place:],
        ]

    def _ask(self, items: list[Item]) -> list[Item]:
        place = self.rng.randrange(len(items) + 1)
        return [*items[:place], Ask(self.rng.choice(self.stories).id), *items[place:]]

    def _wait(self, items: list[Item]) -> list[Item]:
        """Some things are said ahead of the clock, and their time comes."""
        rng = self.rng
        ids = {each.line["id"] for each in items if isinstance(each, Told)}
        ahead = set(rng.sample(sorted(ids), min(len(ids), 2)))
        time = (NOW + timedelta(seconds=rng.randrange(1, 500))).isoformat()
        moved: list[Item] = [
            replace(each, line=each.line | {"at": time})
            if isinstance(each, Told) and each.line["id"] in ahead
            else each
            for each in items
        ]
        place = rng.randrange(len(moved) + 1)
        return [*moved[:place], Wait(rng.choice([100, 600])), *moved[place:]]


def _respelled(line: Line, rng: random.Random) -> Line:
    """The same line, its values spelled otherwise."""
    said = dict(line)
    changes: dict[str, Callable[[Any], Any]] = {
        "transfer_id": lambda text: rng.choice(
            [text[2:], text.upper().replace("0X", "0x"), text[2:].upper()]
        ),
        "nonce": lambda number: rng.choice(
            [str(number), f"0{number}", f"+{number}", f" {number}", hex(number)]
        ),
        "amount": lambda text: "0" + text,
        "symbol": lambda text: rng.choice([text.lower(), text.title()]),
        "id": lambda text: (
            rng.choice([text.replace("0x", ""), text[:20].upper().replace("0X", "0x") + text[20:]])
            if text[:1].isdigit()
            else text
        ),
        "at": lambda text: text.replace("+00:00", "Z"),
    }
    proven = line["type"] == "transfer.sent" and is_proven(read(line, WORLD))
    for name in ("sender", "receiver", "token", "contract"):
        changes[name] = lambda text: rng.choice(
            [
                text.lower(),
                text.upper().replace("0X", "0x"),
                *([text[2:], text[2:].lower()] if proven else []),
            ]
        )
    for name in ("src_tx_hash", "dst_tx_hash", "tx_hash", "block_hash"):
        changes[name] = lambda text: rng.choice([text[2:], text.upper().replace("0X", "0x")])
    for name in rng.sample(sorted(changes.keys() & line.keys()), rng.randrange(1, 3)):
        said[name] = changes[name](line[name])
    return said
