"""The rule of evidence, a line of its tables at a time, where the model does not reach."""

from __future__ import annotations

import pytest

from app.watcher.rules.evidence import (
    ALONE_SECONDS,
    Answer,
    Block,
    Choice,
    Entry,
    Finding,
    Level,
    Receipts,
    Standing,
    Vote,
    Word,
    choose,
    counted,
    heard,
    weigh,
)
from app.watcher.rules.proofs import BLOOM_BYTES, BloomTest, bloom_bits

CONTRACT, TOPIC = b"c" * 20, b"t" * 32
CONTRACTS = BloomTest((CONTRACT,), (TOPIC,))
PAID = Entry("0x1", CONTRACT, (TOPIC,), b"100")
ALTERED = Entry("0x1", CONTRACT, (TOPIC,), b"999")
MADE_UP = Entry("0x2", CONTRACT, (TOPIC,), b"5")
FULL = (bloom_bits(CONTRACT) | bloom_bits(TOPIC)).to_bytes(BLOOM_BYTES, "big")
NO_BITS = bytes(BLOOM_BYTES)
ALL = Receipts(frozenset({PAID}), match=True, filters_match=True)
CLAIMS = Word(claims=frozenset({PAID}), logs=frozenset({PAID}))
DENIES = Word(denies=frozenset({PAID}), logs=frozenset())
VERIFIED = Block(verified=True, bloom=FULL, roots=True, filters=True)


def found(block: Block = VERIFIED, **words: Word) -> Finding:
    return weigh(words, block, CONTRACTS)


def test_receipts_without_header_prove_nothing() -> None:
    word = Word(claims=frozenset({PAID}), receipts=ALL)
    assert found(a=word).logs == {PAID: Level.PROVEN}
    assert found(Block(roots=True, filters=True), a=word).logs == {PAID: Level.CLAIMED}


def test_receipts_next_to_other_filter_prove_a_part() -> None:
    some = Receipts(frozenset({PAID}), match=True, filters_match=False)
    finding = found(a=Word(claims=frozenset({PAID}), receipts=some), b=Word(claims=frozenset({MADE_UP})))
    assert finding.logs == {PAID: Level.PROVEN, MADE_UP: Level.CLAIMED}
    assert finding.rest is not Level.PROVEN


@pytest.mark.parametrize(
    ("block", "is_false"),
    [
        (Block(verified=True, bloom=NO_BITS, empty=True, roots=True), True),
        (Block(verified=True, bloom=NO_BITS, empty=True), False),  # roots were never seen to match
        (Block(verified=True, bloom=FULL, empty=True, roots=True, filters=True), False),  # the filter is not
        (Block(bloom=None, empty=True, roots=True), False),
    ],
)
def test_root_of_no_receipts_proves_absence(block: Block, is_false: bool) -> None:
    finding = found(block, a=CLAIMS)
    assert (finding.standing[PAID] is Standing.FALSE) == is_false
    assert finding.faulty == ({"a": {PAID}} if is_false else {})


def test_forged_header_makes_url_faulty() -> None:
    assert found(a=CLAIMS, b=Word(forged=True)).faulty == {"b": frozenset()}


def test_two_against_two_decide_nothing() -> None:
    finding = found(Block(), a=CLAIMS, b=CLAIMS, c=DENIES, d=DENIES)
    assert finding.standing[PAID] is Standing.KNOWN
    assert not finding.faulty
    assert finding.conflicting == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("answer", "denied"),
    [
        (Answer(logs=frozenset()), False),
        (Answer(txs=frozenset()), False),
        (Answer(txs=frozenset({"0x1"})), False),  # a null receipt of a transaction that is there
        (Answer(txs=frozenset({"0x9"})), True),
        (Answer(of_txs={"0x1": frozenset()}), True),
        (Answer(of_txs={"0x1": frozenset({ALTERED})}), True),
        (Answer(of_txs={"0x1": frozenset({ALTERED, PAID})}), False),
    ],
)
def test_only_transactions_or_receipts_deny(answer: Answer, denied: bool) -> None:
    assert (PAID in heard(Word(), answer, {PAID}).denies) == denied


def test_denial_holds_until_the_log_is_returned() -> None:
    word = heard(Word(), Answer(of_txs={"0x1": frozenset()}), {PAID})
    for silence in (Answer(), Answer(logs=frozenset()), Answer(txs=frozenset({"0x1"}))):
        word = heard(word, silence, {PAID})
    assert word.denies == {PAID}
    assert not heard(word, Answer(logs=frozenset({PAID})), {PAID}).denies


def test_matching_receipts_are_not_replaced() -> None:
    others = Receipts(frozenset({MADE_UP}), match=False, filters_match=False)
    word = heard(heard(Word(), Answer(receipts=others), ()), Answer(receipts=ALL), ())
    assert heard(word, Answer(receipts=others), ()).receipts == ALL


def test_vote_lapses_without_answers() -> None:
    votes = {"a": Vote("0xa", 0.0), "b": Vote("0xb", 1.0)}
    for now, chosen in ((ALONE_SECONDS, Choice("0xa", True)), (ALONE_SECONDS + 0.5, Choice("0xb", False))):
        assert choose(counted(votes, ("a", "b"), now), "0xa", agreed=False) == chosen
    assert choose({}, "0xa", agreed=False) == Choice("0xa", False)
    assert choose(counted(votes, ("b", "a"), 1.0), None, agreed=False) == Choice("0xb", True)
