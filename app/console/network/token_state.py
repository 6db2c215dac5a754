"""The state of a token on a chain: one choice for the three columns that stop it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from markupsafe import Markup

from app.console.shell.formats import pill
from app.console.shell.forms.fields import ChoiceField, Choices
from app.values.differences import FieldDifference

STOPS: Final = {
    "xfer_disabled": "transfers stopped",
    "pool_disabled": "pool stopped",
    "transfer_disabled": "shown as disabled",
}
"""The columns, and what each does."""

STATE: Final = "xfer_disabled"
"""The first column, which names the input. The document always has it."""

RUNS, NOT_POOLED, STOPPED, CUSTOM = "runs", "pool", "stopped", "custom"
STATES: Final = {RUNS: "runs", NOT_POOLED: "not through the pool", STOPPED: "stopped"}
_STATE: Final[Mapping[tuple[bool, ...], str]] = {
    (False, False, False): RUNS,
    (False, True, False): NOT_POOLED,
    (True, False, False): STOPPED,
    (True, True, False): STOPPED,  # the pool's switch makes no difference then, and may stay
}


def state_pill(stopped: bool, pool_disabled: bool) -> Markup:
    """The state of a token, in a list.

    :param stopped: by one of the other two columns.
    """
    if stopped:
        return pill(STATES[STOPPED], "bad")
    return pill(STATES[NOT_POOLED], "warn") if pool_disabled else pill(STATES[RUNS], "good")


def _flags(row: Mapping[str, Any]) -> tuple[bool, ...]:
    return tuple(bool(row.get(name)) for name in STOPS)


def _in_words(row: Mapping[str, Any]) -> str:
    """The state, and what it does not say."""
    state = _STATE.get(_flags(row))
    set_too = [words for name, words in STOPS.items() if row.get(name)]
    if state is None:
        return f"custom: {', '.join(set_too)}"
    return STATES[state] + (", and the pool" if len(set_too) > 1 else "")


class StateField(ChoiceField):
    """The state of a token. Its data are the three columns.

    A state that only a document can set, such as only the last column, is *custom*. It stays until another is
    chosen.
    """

    complaint = "choose what runs"

    def choices(self) -> Choices:
        own = _flags(self.its_form.row)
        more = [] if own in _STATE else [(CUSTOM, _in_words(self.its_form.row))]
        return [(state, words[:1].upper() + words[1:]) for state, words in (*STATES.items(), *more)]

    def process_data(self, value: Any) -> None:
        row = self.its_form.row
        self.text = _STATE.get(_flags(row), CUSTOM)
        self.data = dict(zip(STOPS, _flags(row), strict=True))

    def parse(self, text: str) -> dict[str, bool]:
        state, own = super().parse(text), _flags(self.its_form.row)
        if state == _STATE.get(own, CUSTOM):
            flags = own
        else:  # a pool that is stopped is not opened by stopping all
            flags = state == STOPPED, state == NOT_POOLED or (state == STOPPED and own[1]), False
        return dict(zip(STOPS, flags, strict=True))


def with_states(differences: Iterable[FieldDifference], row: Mapping[str, Any]) -> Iterator[FieldDifference]:
    """Differences of a row, with one in words for all columns of the state.

    :param row: has the columns that do not differ.
    """
    found = {each.field: each for each in differences}
    stops = {name: found[name] for name in STOPS if name in found}

    def words(side: str) -> str | None:
        if STATE in stops and getattr(stops[STATE], side) is None:
            return None  # there is no row
        return _in_words({**row, **{name: getattr(each, side) == "true" for name, each in stops.items()}})

    for name, each in found.items():
        if name not in stops:
            yield each
        elif name == next(iter(stops)):
            yield FieldDifference(STATE, words("before"), words("after"))
