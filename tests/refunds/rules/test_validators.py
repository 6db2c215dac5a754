"""Validator sets: their order, quorum, and what no contract stores."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.network.rules.quorum import MAX_TOTAL_POWER, BadValidatorSet, ValidatorSet
from app.values.identifiers import ChainId
from tests.refunds.rules.contract_mirror import set_hash
from tests.refunds.rules.evidence_kit import some

ETHEREUM = ChainId(1)
A, B, C, D = sorted(some(name) for name in "abcd")
POWERS = st.dictionaries(
    st.binary(min_size=20, max_size=20).filter(any), st.integers(0, 2**200), min_size=1, max_size=30
)


def of(*entries: tuple[bytes, int]) -> ValidatorSet:
    return ValidatorSet.of(ETHEREUM, 1, entries)


@given(POWERS, st.randoms(use_true_random=False))
def test_any_order_gives_same_set(powers, random):
    entries = list(powers.items())
    random.shuffle(entries)
    made = of(*entries)
    assert made.members == tuple(sorted(powers.items()))
    assert made.total_power == sum(powers.values())
    assert made.contract_hash == set_hash([a for a, _ in made.members], [p for _, p in made.members])
    assert [int.from_bytes(power, "big") for power in made.powers] == [p for _, p in made.members]
    for power, (_, number) in zip(made.powers, made.members, strict=True):
        assert power[:1] != b"\0" if number else power == b"\0"
    assert list(made.signers) == sorted(powers)
    assert all(made.power_of(address) == power for address, power in powers.items())


@pytest.mark.parametrize(
    ("total", "quorum"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3), (100, 67), (101, 68), (102, 69), (99, 67)]
)
def test_the_quorum_is_more_than_two_thirds(total, quorum):
    assert of((A, total)).quorum == quorum


def test_the_recorded_quorum():
    assert of((A, 536526686399707052988828399)).quorum == 357684457599804701992552267


def test_non_member_has_no_power():
    assert of((A, 0)).power_of(A) == 0
    assert of((A, 5)).power_of(B) is None


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([(A, 1), (A, 1)], "twice"),
        ([(A, 1), (A, 2)], "twice"),
        ([(A[:19], 1)], "20 bytes, not 19"),
        ([(bytes(20), 1)], "zero address"),
        ([(A, -1)], "out of range"),
        ([(A, 2**256)], "out of range"),
    ],
)
def test_set_is_refused_that_no_contract_stores(entries, reason):
    with pytest.raises(BadValidatorSet, match=reason):
        of(*entries)


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([], "is empty"),
        ([(A, 0), (B, 0)], "has no power"),
        ([(A, MAX_TOTAL_POWER), (B, 1)], "add up to 2^255 or more"),
        ([(A, 2**256 - 1), (B, 2**256 - 1)], "add up to 2^255 or more"),
    ],
)
def test_no_power_reaches_unusable_set(entries, reason):
    """The contract stores such a set, and cannot compute with it."""
    stored = of(*entries)
    assert reason in (stored.cannot_sign or "")
    assert not stored.reached_by(stored.total_power)


def test_quorum_reaches_greatest_total():
    stored = of((A, MAX_TOTAL_POWER - 1), (B, 1))
    assert stored.cannot_sign is None
    assert stored.reached_by(stored.quorum) and not stored.reached_by(stored.quorum - 1)


@pytest.mark.parametrize(
    ("new", "share"),
    [
        ([(A, 10), (B, 10), (C, 10)], Fraction(1)),
        ([(A, 10), (D, 90)], Fraction(1, 3)),
        ([(D, 10)], Fraction(0)),
        ([(A, 10), (B, 10), (C, 10), (D, 1000)], Fraction(1)),
        ([(A, 99), (D, 1)], Fraction(1, 3)),
        ([(A, 3), (B, 3), (C, 3)], Fraction(3, 10)),
    ],
)
def test_rotation_retains_share_of_power(new, share):
    assert of(*new).retained_power_share(of((A, 10), (B, 10), (C, 10))) == share


def test_set_without_power_loses_nothing():
    assert of((A, 1)).retained_power_share(of()) == 1


def test_members_given_directly_must_ascend():
    with pytest.raises(BadValidatorSet, match="ascending"):
        ValidatorSet(ETHEREUM, 1, ((B, 1), (A, 1)))
