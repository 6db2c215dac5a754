"""What came of the faults, as a table of Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from tests.faults_rig.figures import Figures
from tests.faults_rig.health import Health

HEADER: Final = (
    "| fault | failed | longest gap | good again after | p99 of reads before, since | events acknowledged "
    "| lost | sent again | health answered, slowest | `/readyz` |\n|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one fault.

    :param health: by gateway, of the process; ``ready`` likewise, whether it can serve.
    :param acknowledged: events that were acknowledged while it was measured.
    :param lost: events that were acknowledged until then, and that the database does not have.
    :param sent_again: portions of events that the reporter had to send again meanwhile.
    """

    name: str
    figures: Figures
    health: Mapping[str, Health]
    ready: Mapping[str, Health]
    acknowledged: int
    lost: int
    sent_again: int


def line(result: Result) -> str:
    """One fault."""
    of = result.figures
    share = f"{100 * of.failed.total() / max(1, of.requests):.2f} %"
    kinds = ", ".join(f"{count} x {outcome}" for outcome, count in sorted(of.failed.items()))
    recovered = "never" if of.recovered is None else f"{of.recovered:.0f} s"
    cells = (
        result.name,
        f"{of.failed.total()} of {of.requests} ({share}{': ' if kinds else ''}{kinds})",
        f"{of.gap:.2f} s",
        recovered,
        f"{of.p99_before:.0f}, {of.p99_during:.0f} ms",
        str(result.acknowledged),
        str(result.lost),
        str(result.sent_again),
        _answered(result.health),
        _unready(result.ready),
    )
    return f"| {' | '.join(cells)} |"


def silent(result: Result) -> int:
    """How often a gateway did not answer in time that its process is up."""
    return sum(health.sent - health.answered for health in result.health.values())


def _answered(found: Mapping[str, Health]) -> str:
    return "; ".join(
        f"{name}: {each.answered} of {each.sent}, {each.slowest:.2f} s" for name, each in found.items()
    )


def _unready(found: Mapping[str, Health]) -> str:
    """Which gateways reported that they cannot serve, and the last reason."""
    return "; ".join(
        f"{name}: {each.sent - each.good} of {each.sent} not ready{_reason(each)}"
        for name, each in found.items()
        if each.good < each.sent
    )


def _reason(health: Health) -> str:
    if not health.reason:
        return ""
    return f" ({orjson.loads(health.reason)['err']['msg']})"
