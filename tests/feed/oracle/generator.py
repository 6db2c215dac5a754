"""Random feeds: what reporters send of a few transfers, lost, repeated, reorganised, retracted, shuffled."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from tests.feed.oracle.evidence import withdraw_id
from tests.feed.oracle.items import REPORTERS, Again, Item, RefundRequest, Reported, Retract, TakeBack, Wait
from tests.feed.oracle.reading import is_proven, read
from tests.feed.oracle.story import WORLD, Line, Story
from tests.feed.oracle.world import KEYS, NOW, SIGNERS

FOCUSES: Final = (
    ("transfer.sent", "refund.prepared", "refund.signed", "network.status"),
    ("transfer.sent", "transfer.submitted", "transfer.confirmed", "transfer.failed"),
    ("transfer.sent", "transfer.released", "transfer.delayed"),
    ("transfer.", "network."),
)
"""Some feeds are about a part of a transfer's life, so that what belongs together meets more often."""

ON_CHAIN: Final = {"chain_id", "block", "block_hash", "log_index"}
OPTIONAL: Final = {
    "transfer.submitted": {"src_tx_hash", "dst_chain_id", "symbol", "amount", "sender", "receiver"},
    "transfer.sent": {"symbol", "token", "nonce", "max_slippage", "contract", *(ON_CHAIN - {"chain_id"})},
    "transfer.failed": {"reason", *ON_CHAIN},
    "transfer.delayed": {"dst_tx_hash", "delayed_id", *ON_CHAIN},
    "transfer.released": {"amount", *ON_CHAIN},
    "refund.delayed": {"tx_hash", *ON_CHAIN},
    "refund.completed": {"tx_hash", *ON_CHAIN},
    "chain.head": set[str](),
}
"""Fields that a report may lack. Of a chain's own events these are the places in a block."""
PROVING: Final = {"nonce", "token", "contract"}


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
                items.insert(rng.randrange(len(items) + 1), Reported(reporter, self._spelled(line, reporter)))
        if rng.random() < 0.05:
            items = items[: rng.randrange(2, 8)]
        for change in rng.choices(
            [
                self._reorganise,
                self._retract,
                self._send_again,
                self._request_refund,
                self._wait,
                self._rotate,
            ],
            k=rng.randrange(5),
        ):
            items = change(items)
        if rng.random() < 0.02:
            items = [*items[:12], Again(rng.choice(["all", "of 1 and 2"]), 258)]
        return [
            replace(each, joins=rng.random() < 0.7) if isinstance(each, Reported) else each for each in items
        ]

    def _reports(self) -> list[Reported]:
        """What reporters send of the transfers: each leaves out what it lost, and spells it as it likes."""
        rng = self.rng
        reported = []
        share = rng.choice([0.2, 0.5, 0.8])
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
                if (line["type"] in without and rng.random() < 0.8) or rng.random() > share:
                    continue
                reported += [
                    Reported(reporter, self._spelled(line, reporter)) for reporter in self._reporters()
                ]
            if rng.random() < 0.4:
                for false in rng.sample(story.false_reports, rng.randrange(1, 4)):
                    reported.append(
                        Reported(
                            rng.choice(["of 1", "of 2", "of 3", "of 2 and 3"]), self._spelled(false, "all")
                        )
                    )
        if rng.random() < 0.8:
            rng.shuffle(reported)
        return reported

    def _reporters(self) -> Sequence[str]:
        some = self.rng.choice([["all"], ["all"], ["all", "all too"], ["all", "of 1 and 2"], list(REPORTERS)])
        return self.rng.sample(some, self.rng.randrange(1, min(len(some), 3) + 1))

    def _spelled(self, line: Line, reporter: str) -> Line:
        """The line as one reporter sends it: other spellings, and fields that it does not know."""
        rng = self.rng
        may_miss = OPTIONAL.get(line["type"], ON_CHAIN)
        if "transfer_id" not in line:
            may_miss = may_miss - {"chain_id"}
        if REPORTERS[reporter] is not None and line["type"] == "transfer.sent":
            may_miss = may_miss - PROVING
        if rng.random() < 0.3:
            may_miss = set()
        missing = {name for name in sorted(may_miss) if rng.random() < 0.25}
        if {"token", "symbol"} <= missing:
            missing.discard("symbol")
        reported = {name: value for name, value in line.items() if name not in missing}
        return respelled(reported, rng) if rng.random() < 0.3 else reported

    def _of_chains(self) -> list[Line]:
        """Rotations, liquidity, withdraw ids and heads."""
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
        for n in range(rng.choice([0, 0, 1, 2])):
            head = {"id": f"head {n}", "type": "chain.head", "at": NOW.isoformat(), "block": 60 + n}
            lines.append(head | {"chain_id": rng.choice([1, 2, 3])})
        return lines

    # What happens to a feed.

    def _reorganise(self, items: list[Item]) -> list[Item]:
        """A chain takes blocks back; then some, all or none of what was reported before is reported again."""
        rng = self.rng
        place = rng.randrange(len(items) + 1)
        reported = [each for each in items[:place] if isinstance(each, Reported)]
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
        reorg = Reported(reporter, line | {"from_block": block})
        again = rng.choice([[], reported, [each for each in reported if rng.random() < 0.5]])
        return [*items[:place], reorg, *again, *items[place:]]

    def _retract(self, items: list[Item]) -> list[Item]:
        rng = self.rng
        place = rng.randrange(len(items) + 1)
        reported = [each for each in items[:place] if isinstance(each, Reported)]
        if not reported:
            return items
        signatures = [each for each in reported if each.line["type"] == "refund.signed"]
        chosen = rng.choice(signatures if signatures and rng.random() < 0.3 else reported)
        subject = chosen.line.get("transfer_id") or chosen.line["chain_id"]
        done: list[Item] = [Retract(chosen.line["id"], subject)]
        later: list[Item] = rng.choice(
            [[], [], [TakeBack()], [chosen], [chosen, chosen], rng.sample(reported, len(reported) // 2)]
        )
        return [*items[:place], *done, *later, *items[place:]]

    def _rotate(self, items: list[Item]) -> list[Item]:
        """After all that was reported, some who signed become the validators."""
        rng = self.rng
        signed = [
            each for each in items if isinstance(each, Reported) and each.line["type"] == "refund.signed"
        ]
        if not signed:
            return items
        last = rng.choice(signed)
        keys = {int(each.line["id"].split()[-1]) for each in rng.choice([[last], [last, rng.choice(signed)]])}
        story = next(each for each in self.stories if each.n == int(last.line["id"].split()[1]))
        line = {"id": "rotation to who signed", "type": "validators.updated", "chain_id": story.source}
        members = {"signers": [SIGNERS[key] for key in sorted(keys)], "powers": ["1"] * len(keys)}
        retracted: list[Item] = (
            [Retract(last.line["id"], last.line["transfer_id"]), last] if rng.random() < 0.6 else []
        )
        return [*items, *retracted, Reported("all", line | members | {"at": NOW.isoformat(), "block": 50})]

    def _send_again(self, items: list[Item]) -> list[Item]:
        """A reporter sends its whole log, to its end."""
        place = self.rng.randrange(len(items) + 1)
        return [
            *items[:place],
            Again(self.rng.choice(list(REPORTERS)), self.rng.choice([1, 1, 2])),
            *items[place:],
        ]

    def _request_refund(self, items: list[Item]) -> list[Item]:
        place = self.rng.randrange(len(items) + 1)
        return [*items[:place], RefundRequest(self.rng.choice(self.stories).id), *items[place:]]

    def _wait(self, items: list[Item]) -> list[Item]:
        """Some things are reported ahead of the clock, and their time comes."""
        rng = self.rng
        ids = {each.line["id"] for each in items if isinstance(each, Reported)}
        ahead = set(rng.sample(sorted(ids), min(len(ids), 2)))
        time = (NOW + timedelta(seconds=rng.randrange(1, 500))).isoformat()
        moved: list[Item] = [
            replace(each, line=each.line | {"at": time})
            if isinstance(each, Reported) and each.line["id"] in ahead
            else each
            for each in items
        ]
        place = rng.randrange(len(moved) + 1)
        return [*moved[:place], Wait(rng.choice([100, 600])), *moved[place:]]


def respelled(line: Line, rng: random.Random) -> Line:
    """The same line, its values spelled otherwise."""
    reported = dict(line)
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
        reported[name] = changes[name](line[name])
    return reported
