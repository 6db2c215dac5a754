"""The call carries the fewest signatures that the contract takes."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from app.network.rules.quorum import ValidatorSet
from app.refunds.rules.call import shortest_quorum
from app.values.identifiers import ChainId

ETHEREUM = ChainId(1)
ADDRESSES = st.binary(min_size=20, max_size=20).filter(any)
SETS = st.dictionaries(ADDRESSES, st.integers(0, 9), min_size=1, max_size=8)


def power_of(signed: tuple[tuple[bytes, bytes], ...], powers: dict[bytes, int]) -> int:
    return sum(powers[signer] for signer, _ in signed)


@given(SETS, st.data())
def test_quorum_is_minimal_with_ascending_signers(powers, data):
    validators = ValidatorSet.of(ETHEREUM, 0, powers.items())
    who = data.draw(st.sets(st.sampled_from(sorted(powers))))
    signed = [(signer, b"by " + signer) for signer in sorted(who)]
    chosen = shortest_quorum(signed, validators)
    assert list(chosen) == sorted(set(chosen)) and set(chosen) <= set(signed)
    assert chosen == shortest_quorum(data.draw(st.permutations(signed)), validators)
    if power_of(tuple(signed), powers) < validators.quorum:
        assert list(chosen) == signed
        return
    assert power_of(chosen, powers) >= validators.quorum
    fewer = combinations(signed, len(chosen) - 1)
    assert all(power_of(some, powers) < validators.quorum for some in fewer)


def test_equal_powers_prefer_lower_addresses():
    signers = [bytes([n]) * 20 for n in (9, 3, 7, 1)]
    validators = ValidatorSet.of(ETHEREUM, 0, dict.fromkeys(signers, 5).items())
    chosen = shortest_quorum([(signer, b"sig") for signer in sorted(signers)], validators)
    assert [signer[0] for signer, _ in chosen] == [1, 3, 7]
