"""1 to 30 validators, any order of arrival, rotations in between: what is served, the contract takes.

The test has an account of only people and powers. It knows nothing of digests and signatures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from flask import Flask
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.amounts import costly
from tests.feed.services.world import forget_events, signed
from tests.refunds.kit import KINDS, PEOPLE, Gateway, Powers, Story, rotation
from tests.refunds.rules.evidence_kit import flipped, twin

POWER = st.one_of(st.integers(1, 5), st.integers(0, 2**88))
SETS = st.dictionaries(st.sampled_from(PEOPLE[:36]), POWER, min_size=1, max_size=30)


@dataclass
class Account:
    """What must follow from the events that were accepted."""

    sets: dict[float, Powers]
    """The rotations by their time: the latest counts, whenever it arrived."""
    sent: bool = False
    prepared: bool = False
    signers: set[bytes] = field(default_factory=set)
    refused: set[bytes] = field(default_factory=set)
    """Signers who were not in the set of then. A rotation that has them accepts what they sent."""

    @property
    def powers(self) -> Powers:
        return self.sets[max(self.sets)]

    @property
    def at_quorum(self) -> bool:
        signed_power = sum(self.powers.get(key, 0) for key in self.signers)
        return signed_power * 3 > sum(self.powers.values()) * 2

    @property
    def status(self) -> int:
        if not self.prepared:
            return Status.TRANSFER_SUBMITTING if self.sent else Status.TRANSFER_UNKNOWN
        return (
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED
            if self.sent and self.at_quorum
            else Status.TRANSFER_REQUESTING_REFUND
        )


@dataclass(frozen=True)
class Step:
    """An event, who genuinely signed in it, and how the account changes when it is accepted."""

    event: dict[str, Any]
    what: str
    who: bytes = b""
    at: float = 0
    powers: Powers = field(default_factory=dict)

    def enter(self, account: Account) -> None:
        match self.what:
            case "sent":
                account.sent = True
            case "prepared":
                account.prepared = True
            case "signed":
                account.signers.add(self.who)
            case "rotation":
                account.sets[self.at] = self.powers
        account.signers |= account.refused & account.powers.keys()


def spoiled(story: Story, key: bytes, how: str) -> dict[str, Any]:
    genuine = story.signature(key)
    other = story.signature(key, story.request(amount=1))
    return signed(
        story.n,
        {"twin": twin(genuine), "bit": flipped(genuine, 300), "cut": genuine[:-1], "other": other}[how],
    )


def rotated(powers: Powers, random: Random) -> Powers:
    """Some leave, some come, some have other powers."""
    stay = {key: power for key, power in powers.items() if random.random() < 0.8}
    stay.update({key: random.randint(1, 5) for key in random.sample(PEOPLE[:36], random.randrange(4))})
    return dict(list(stay.items())[:30]) or {PEOPLE[0]: 1}


def steps_of(story: Story, first: Powers, random: Random) -> list[Step]:
    """Send, request, signatures and rotations in any order, spoiled signatures among them."""
    steps = [Step(story.sent(), "sent"), Step(story.prepared(), "prepared")]
    current = first
    for number in range(random.choice([0, 1, 1, 2])):
        current, at = rotated(current, random), -100 + number
        steps.append(Step(rotation(story.chain, current, at), "rotation", at=at, powers=current))
    signers = {key for key in (*first, *current) if random.random() < 0.9} | {random.choice(PEOPLE)}
    steps += [Step(story.signed(key), "signed", who=key) for key in sorted(signers)]
    steps += [
        Step(spoiled(story, random.choice([*first]), how), "spoiled")
        for how in random.choices(["twin", "bit", "cut", "other"], k=random.randrange(5))
    ]
    random.shuffle(steps)
    return list({step.event["id"]: step for step in steps}.values())


def feed_all(
    gateway: Gateway, story: Story, account: Account, steps: list[Step], random: Random
) -> list[Step]:
    """Feed in batches of any size, compare after each; return what was refused."""
    refused: list[Step] = []
    while steps:
        size = random.choice([1, 1, 2, 5])
        batch, steps = steps[:size], steps[size:]
        known = [step for step in batch if step.what == "signed" and step.who in account.signers]
        verdict = gateway.feed(*(step.event for step in batch))
        lines = {each.line for each in verdict.refused}
        assert verdict.repeated == len(known)
        assert verdict.accepted == len(batch) - len(lines) - len(known)
        for number, step in enumerate(batch, start=1):
            if number in lines:
                assert step.what in ("signed", "spoiled")
                refused.append(step)
                if step.what == "signed":
                    account.refused.add(step.who)
            else:
                step.enter(account)
        compare(gateway, story, account)
    return refused


def compare(gateway: Gateway, story: Story, account: Account) -> None:
    answer = gateway.status(story)
    assert answer["status"] == account.status
    assert story.contract_takes(answer, account.powers) is (
        account.status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    )


def feed_story(gateway: Gateway, kind: SendKind, first: Powers, seed: int) -> None:
    """Feed a whole story; refused signatures are sent again, as their senders do."""
    random, story = Random(seed), Story(kind)
    account = Account({-300.0: first})
    gateway.take(rotation(story.chain, first, at=-300))
    refused = feed_all(gateway, story, account, steps_of(story, first, random), random)
    again = feed_all(gateway, story, account, refused, random)
    assert account.sent
    assert account.prepared
    # Everything is known now: refused are the spoiled and those of nobody in the current set.
    assert not any(step.what == "signed" and step.who in account.powers for step in again)


@settings(costly, phases=[Phase.explicit, Phase.generate])  # shrinking a seed explains nothing
@given(st.sampled_from(KINDS), SETS, st.integers(0, 2**32))
def test_served_while_the_contract_takes_it(
    app: Flask, gateway: Gateway, kind: SendKind, first: Powers, seed: int
) -> None:
    forget_events(app)
    feed_story(gateway, kind, first, seed)
