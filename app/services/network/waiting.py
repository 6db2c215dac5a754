"""Which changes of the configuration wait for a second operator, and which stop something at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from app.domain.proposals.two_persons import TwoPersons
from app.services.network.changes import Change
from app.services.network.sections import SECTIONS, Row

_SWITCHES: Final = {
    "chains": ({"disabled"}, {"disabled_reason"}),
    "tokens": ({"xfer_disabled", "pool_disabled", "transfer_disabled"}, set[str]()),
}
"""By section: the columns that stop more when they are true, and the notes that may change with them."""

_BLOCKS: Final = ("route_blocks", "blocked_addresses", "blocked_networks")
_NOTES_OF_BLOCKS: Final = {"reason", "source", "expires_at"}


def sections_that_wait(rule: TwoPersons, changes: Iterable[Change]) -> list[str]:
    """The guarded sections that the changes are about, in the document's order.

    A change that only stops something is none of them: an incident does not wait for a second person.
    """
    found = {c.section.name for c in changes if rule.guards(c.section.name) and not only_stops(c)}
    return [section.name for section in SECTIONS if section.name in found]


def only_stops(change: Change) -> bool:
    """Whether all that the change does is to stop a chain or a token, or to block something, or for longer.

    Together with anything else it is no stop: otherwise a new contract could slip in beside one.
    """
    section, before, after = change.section.name, change.before, change.after
    if after is None:
        return False
    if before is None:
        return section in _BLOCKS
    if section in _BLOCKS:
        return _blocks_more(set(change.columns), before, after)
    if section == "pegged_pairs":
        return _stops_pair(change.columns, before, after)
    if section not in _SWITCHES:
        return False
    switches, notes = _SWITCHES[section]
    turned = switches.intersection(change.columns)
    return bool(turned) and all(after[switch] for switch in turned) and set(change.columns) <= turned | notes


def _blocks_more(columns: set[str], before: Row, after: Row) -> bool:
    """Whether a block lasts longer, or stops the way back, too, and nothing but its notes changed with it."""
    ends, ended = after["expires_at"], before["expires_at"]
    longer = ended is not None and (ends is None or ends > ended)
    shorter = "expires_at" in columns and not longer
    wider = "both_directions" in columns and after["both_directions"]
    notes = _NOTES_OF_BLOCKS | ({"both_directions"} if wider else set())
    return (longer or wider) and not shorter and columns <= notes


def _stops_pair(columns: Iterable[str], before: Row, after: Row) -> bool:
    """Whether the pair's switch was turned on, on either side, and nothing else changed."""
    sides = set(columns)
    return sides <= {"org_token", "pegged_token"} and all(
        after[side] == before[side] | {"xfer_disabled": True} for side in sides
    )
