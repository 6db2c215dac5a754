"""The checks of an estimate as they are told to everybody.

The first two, which look for blocks, are one here: which of them it was is told by nothing but the code that
the estimate itself answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.estimate.explain import CheckOutcome, CheckResult
from app.domain.estimate.refusals import Check

ACCESS: Final = "access"

_OF_BLOCKS: Final = (Check.CALLER_NETWORK, Check.ADDRESS)

CHECK_NAMES: Final = (ACCESS, *(check.value for check in Check if check not in _OF_BLOCKS))


def check_name(check: Check) -> str:
    """The name of a check, one of ``CHECK_NAMES``."""
    return ACCESS if check in _OF_BLOCKS else check.value


def check_outcomes(results: Sequence[CheckResult]) -> list[tuple[str, CheckOutcome]]:
    """Each check with its outcome, in their order."""
    blocks = {result.outcome for result in results if result.check in _OF_BLOCKS}
    access = CheckOutcome.REFUSED if CheckOutcome.REFUSED in blocks else CheckOutcome.PASSED
    others = [(result.check.value, result.outcome) for result in results if result.check not in _OF_BLOCKS]
    return [(ACCESS, access), *others]
