"""Every state that the rule of evidence reaches in a small world is right, or ends right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from app.watcher.rules.evidence import Level, Standing
from tests.everyday import SEED, volume
from tests.watcher.rules.model import (
    FALSE,
    TRUE_BLOCK,
    Behaviour,
    Chain,
    Model,
    Seen,
    State,
    lies_of,
    reached,
)

CHAINS = [
    Chain(receipts, roots, filters, paid)
    for receipts, roots in ((True, True), (True, False), (False, False))
    for filters in (True, False)
    for paid in (True, False)
]
MAIN = [Chain(True, True, True), Chain(True, False, False), Chain(False, False, True)]
RIGHT = {Behaviour.HONEST, Behaviour.LATE, Behaviour.SILENT, Behaviour.FAULT}
HONEST = {Behaviour.HONEST, Behaviour.LATE}


def names(behaviours: tuple[Behaviour, ...]) -> str:
    return " | ".join(each.value for each in behaviours)


def wrong_in(model: Model, seen: Seen) -> Iterator[str]:
    """What is wrong in a state, however it ends."""
    chain, state, finding = model.chain, seen.state, seen.finding
    count = len(model.behaviours)
    if len(finding.conflicting) == 1:
        yield "one voice conflicts with itself"
    if count > 1 and len(state.named) < 2 and max(finding.logs.values(), default=0) == Level.PROVEN:
        yield "a log is proven of a branch that one of several voices named"
    if state.reading != TRUE_BLOCK:
        alike = model.behaviours.count(Behaviour.OWN_BRANCH) > 1
        if state.split == 3 and state.served - state.final and not alike:
            yield f"{state.served} is served although the split lasts"
        return
    alike = alike_of(model)
    claimed_by_two = {what for kind, what in alike if kind == "claims"}
    known = {entry for entry, level in finding.logs.items() if level}
    for entry, level in finding.logs.items():
        if level == Level.PROVEN and entry not in chain.true:
            yield f"{entry} is proven, and false"
        if level == Level.AGREED and entry not in chain.true | claimed_by_two:
            yield f"{entry} is agreed, and false"
    if finding.rest is Level.PROVEN and not chain.true <= known:
        yield "nothing more is proven, and false"
    if finding.rest is Level.AGREED and not chain.true <= known:
        kinds = {kind for kind, _ in alike}
        if "lacks" not in kinds:
            yield "nothing more is agreed, and false"
        if chain.filters and len(state.named) > 1 and state.verified and kinds <= {"lacks"}:
            yield "nothing more is agreed beside a filter that is not explained"
    if alike - {("lacks", each) for each in chain.true}:
        return
    for entry in chain.true:
        if finding.standing.get(entry) is Standing.FALSE:
            yield f"{entry} is taken back, and true"
    for voice in finding.faulty:
        if model.behaviours[int(voice)] in RIGHT:
            yield f"{voice} is named as faulty, and is not"
    for entry in FALSE & (state.served - state.final):
        if any(entry in word.denies for word in state.words):
            yield f"{entry} is served, and denied"
    if state.final & FALSE and count > 1 and not state.old:
        yield "something false is final before the others had time to answer"
    deniers = {Behaviour.LEAVES_OUT, Behaviour.ALTERS, Behaviour.OWN_BRANCH}
    if (lost := (chain.true & state.reported) - state.served) and deniers.isdisjoint(model.behaviours):
        yield f"{lost} is suspended, and nobody denies it"


def wrong_after(before: State, seen: Seen, model: Model) -> Iterator[str]:
    """What one poll must not do."""
    after = seen.state
    if alike_of(model):
        return
    if before.reading != after.reading:
        if before.deep and len(before.named) > 1 and after.votes.count(after.reading) < 2:
            yield "a final block that two voices named gave way to one that one voice names"
        return
    if lost := (before.final & model.chain.true) - after.served:
        yield f"{lost} was final and true, and is lost"
    if lost := (before.reported & model.chain.true) - after.reported:
        yield f"{lost} was reported and true, and is lost"
    new = {each for each in after.final - before.final if seen.finding.logs[each] == Level.CLAIMED}
    if new and after.split:
        yield f"{new} became final in a split, and only one voice returned it"


def wrong_at_end(model: Model, seen: Seen) -> Iterator[str]:
    """What is wrong once every URL has answered for long enough."""
    chain, behaviours = model.chain, model.behaviours
    if alike_of(model) or not HONEST & {*behaviours}:
        return
    last = model.last(seen.state)
    state, finding = last.state, last.finding
    honest = sum(each in HONEST for each in behaviours)
    if state.reading != TRUE_BLOCK:
        if honest > len(behaviours) / 2:
            yield "another branch is read than that of most"
        return
    if Behaviour.OWN_BRANCH in behaviours and len(behaviours) == 2:
        return  # a split for ever suspends the ends of both
    named = len(state.named) > 1
    by_proof = named and ((chain.receipts and chain.roots) or (chain.filters and not chain.paid))
    if by_proof or (chain.receipts and honest > 1):
        if state.served != chain.true | (seen.state.final & FALSE & state.served):
            yield f"{state.served} is served"
        if finding.conflicting:
            yield "nothing is decided"
        for voice, word in zip(model.voices, state.words, strict=True):
            if word.denies & chain.true and voice not in finding.faulty:
                yield f"{voice} denies what is true, and is not named"
        if named and chain.receipts:
            for voice, behaviour in enumerate(behaviours):
                lies = {what for kind, what in lies_of(behaviour, chain) if kind in ("claims", "denies")}
                if (
                    lies - (state.words[voice].claims & chain.true)
                    and behaviour is not Behaviour.OWN_BRANCH
                    and str(voice) not in {*finding.faulty, *finding.missing}
                ):
                    yield f"{voice} lies, and is not named"
                if behaviour is Behaviour.FORGES and str(voice) not in finding.faulty:
                    yield f"{voice} forges a header, and is not named"
    else:
        disputed = {each for each, is_ in finding.standing.items() if is_ is Standing.DISPUTED}
        if disputed and not finding.conflicting:
            yield "a dispute is not raised"
        if chain.receipts and (FALSE & state.served) - state.final:
            yield f"{state.served} is served"


def alike_of(model: Model) -> set[tuple[str, object]]:
    """The lies that two URLs tell alike."""
    lies = [lies_of(each, model.chain) for each in model.behaviours]
    return {each for one, other in itertools.combinations(lies, 2) for each in one & other}


def mistakes(model: Model, polls: int) -> set[str]:
    found: set[str] = set()
    for before, seen, is_new in reached(model, polls):
        found.update(wrong_after(before, seen, model))
        if is_new:
            found.update(wrong_in(model, seen))
            found.update(wrong_at_end(model, seen))
    return {f"{names(model.behaviours)}: {each}" for each in found}


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_one_poll_is_right(chain: Chain) -> None:
    pairs = itertools.product(Behaviour, repeat=2)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 1) for pair in pairs))


@pytest.mark.parametrize("chain", MAIN, ids=str)
def test_two_polls_are_right(chain: Chain) -> None:
    pairs = itertools.product(Behaviour, repeat=2)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 2) for pair in pairs))


@pytest.mark.parametrize("behaviour", Behaviour)
def test_four_polls_beside_an_honest_url_are_right(behaviour: Behaviour) -> None:
    assert not mistakes(Model(MAIN[0], (behaviour, Behaviour.HONEST)), 4)


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_five_polls_are_right(chain: Chain) -> None:
    pairs = itertools.product(Behaviour, repeat=2)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 5) for pair in pairs))


@pytest.mark.parametrize("chain", MAIN, ids=str)
@pytest.mark.parametrize("behaviour", Behaviour)
def test_three_urls_are_right_where_two_are_honest(chain: Chain, behaviour: Behaviour) -> None:
    for behaviours in (
        (behaviour, Behaviour.HONEST, Behaviour.LATE),
        (Behaviour.HONEST, Behaviour.LATE, behaviour),
    ):
        assert not mistakes(Model(chain, behaviours), 2 if volume(1, 0) else 1)


@pytest.mark.parametrize("chain", MAIN, ids=str)
def test_three_urls_are_right(chain: Chain) -> None:
    rng = random.Random(SEED)
    for _ in range(volume(200, 3)):
        behaviours = tuple(rng.choices([*Behaviour], k=3))
        assert not mistakes(Model(chain, behaviours), 2 if volume(1, 0) else 1)


@pytest.mark.parametrize("behaviour", Behaviour)
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_sole_url_proves_nothing_that_its_chain_does_not_have(behaviour: Behaviour, chain: Chain) -> None:
    """But a branch that it makes up as a whole, with hashes that are right."""
    assert not mistakes(Model(chain, (behaviour,)), 3)
