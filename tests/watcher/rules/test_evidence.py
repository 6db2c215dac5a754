"""The rule of evidence, a line of its tables at a time, where the model does not reach."""

from __future__ import annotations

import pytest

from app.watcher.rules.evidence import (
    ALONE_SECONDS,
    Answer,
    Block,
    Choice,
    Finding,
    Level,
    Receipts,
    Standing,
    Vote,
    Word,
    choose,
    heard,
    weigh,
)
from tests.watcher.rules.model import ALTERED, CONTRACTS, FULL, MADE_UP, NO_BITS, PAID

ALL = Receipts(frozenset({PAID}), match=True, filters_match=True)
CLAIMS = Word(claims=frozenset({PAID}), logs=frozenset({PAID}))
DENIES = Word(denies=frozenset({PAID}), logs=frozenset())
VERIFIED = Block(verified=True, bloom=FULL, roots=True, filters=True)


def found(block: Block = VERIFIED, **words: Word) -> Finding:
    return weigh(words, block, CONTRACTS)


def test_receipts_prove_nothing_where_no_header_is_verified() -> None:
    word = Word(claims=frozenset({PAID}), receipts=ALL)
    assert found(a=word).logs == {PAID: Level.PROVEN}
    assert found(Block(roots=True, filters=True), a=word).logs == {PAID: Level.CLAIMED}


def test_receipts_beside_another_filter_prove_what_they_hold_and_not_that_it_is_all() -> None:
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
def test_root_of_no_receipts_proves_that_there_is_no_log(block: Block, is_false: bool) -> None:
    finding = found(block, a=CLAIMS)
    assert (finding.standing[PAID] is Standing.FALSE) == is_false
    assert finding.faulty == ({"a": {PAID}} if is_false else {})


def test_header_that_differs_from_the_verified_one_names_its_url() -> None:
    assert found(a=CLAIMS, b=Word(forged=True)).faulty == {"b": frozenset()}


def test_two_against_two_name_nobody_and_take_nothing_back() -> None:
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
def test_only_a_list_of_transactions_or_a_receipt_denies(answer: Answer, denied: bool) -> None:
    assert (PAID in heard(Word(), answer, {PAID}).denies) == denied


def test_denial_holds_until_the_log_is_returned() -> None:
    word = heard(Word(), Answer(of_txs={"0x1": frozenset()}), {PAID})
    for silence in (Answer(), Answer(logs=frozenset()), Answer(txs=frozenset({"0x1"}))):
        word = heard(word, silence, {PAID})
    assert word.denies == {PAID}
    assert not heard(word, Answer(logs=frozenset({PAID})), {PAID}).denies


def test_receipts_that_match_are_not_replaced_by_some_that_do_not() -> None:
    others = Receipts(frozenset({MADE_UP}), match=False, filters_match=False)
    word = heard(heard(Word(), Answer(receipts=others), ()), Answer(receipts=ALL), ())
    assert heard(word, Answer(receipts=others), ()).receipts == ALL


def test_vote_lapses_when_a_voice_has_not_answered_for_long() -> None:
    votes = {"a": Vote("0xa", 0.0), "b": Vote("0xb", 1.0)}
    for now, chosen in ((ALONE_SECONDS, Choice("0xa", True)), (ALONE_SECONDS + 0.5, Choice("0xb", False))):
        assert choose(votes, ("a", "b"), "0xa", now, agreed=False) == chosen
    assert choose({}, ("a", "b"), "0xa", 0.0, agreed=False) == Choice("0xa", False)
    assert choose(votes, ("b", "a"), None, 1.0, agreed=False) == Choice("0xb", True)
