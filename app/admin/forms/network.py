"""A form about one row of the network: shown, read back, and told what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from app.admin.forms.fields import Field, Input, Wrong, percent_of
from app.admin.network_words import chain_names, in_units
from app.admin.requests import unexpected_field_complaint
from app.domain.difference import FieldDifference
from app.services.network.edits.results import FieldError

STEPS: Final = frozenset({"seen", "confirm", "back", "typed"})
"""What the forms post beside their fields."""

_PPM: Final = frozenset({"minimal_max_slippage"})


@dataclass(frozen=True, slots=True)
class Shown:
    """One input as the page shows it. ``locked`` is why it cannot be changed."""

    input: Input
    text: str
    errors: tuple[str, ...]
    locked: str | None
    hint: str

    @property
    def called(self) -> str:
        """The text, or what the choice that it is is called."""
        return dict(self.choices).get(self.text, self.text)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What a select or a suggested line offers."""
        return self.input.choices() if self.input.choices else []


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A difference in the form's words; human units and names stand beside the bare values."""

    label: str
    before: str | None
    after: str | None
    before_hint: str
    after_hint: str


@dataclass(slots=True)
class EditForm:
    """The fields of one section with the texts that stand in them.

    ``standing`` is the row as the document writes it, None for a new one. ``locked`` are keys of the
    document with the reason. ``errors`` are by input, those of the row as a whole under ``""``.
    """

    fields: tuple[Field, ...]
    standing: Mapping[str, Any] | None = None
    locked: Mapping[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)

    def fill(self, given: Mapping[str, str] | None = None) -> EditForm:
        """Put in what stands; in a new row what it starts with, or what the address of the page says."""
        for each in self.fields:
            texts = dict(each.start) if self.standing is None else each.write(self.standing[each.key])
            self.texts |= texts
        if given and self.standing is None:
            self.texts |= {name: given[name][:256] for name in self.texts if name in given}
        return self

    def read(self, posted: MultiDict[str, str]) -> EditForm:
        """Take what was posted. Nothing else than the form's own fields may be among it."""
        self.fill()
        names = {each.name for row in self.fields if row.key not in self.locked for each in row.inputs}
        if complaint := unexpected_field_complaint({*names, *STEPS}):
            self.complain("", complaint)
            return self
        self.texts |= {name: posted.getlist(name)[-1] for name in names if name in posted}
        for each in self.fields:
            if each.key not in self.locked and any(part.name in posted for part in each.inputs):
                try:
                    self.values[each.key] = each.read(self.texts)
                except Wrong as wrong:
                    self.complain(wrong.input_name, str(wrong))
        return self

    def complain(self, name: str, message: str) -> None:
        """Note what is wrong with an input."""
        self.errors.setdefault(name, []).append(message)

    def take(self, errors: Iterable[FieldError]) -> None:
        """Note what the service finds wrong, beside the inputs that it is about."""
        by_key = {each.key: each for each in self.fields}
        for error in errors:
            found = by_key.get("id" if error.field == "chain_id" and "id" in by_key else error.field)
            if found is None:
                self.complain("", str(error))
            else:
                name, where = found.place(error.path)
                self.complain(name, where + error.message)

    def shown(self) -> Iterator[Shown]:
        """Every input, in order."""
        for each in self.fields:
            for part in each.inputs:
                yield Shown(
                    part,
                    self.texts.get(part.name, ""),
                    tuple(self.errors.get(part.name, ())),
                    self.locked.get(each.key),
                    self._hint(part),
                )

    def fixed(self) -> dict[str, list[Shown]]:
        """What cannot be changed, by the reason."""
        found: dict[str, list[Shown]] = {}
        for item in self.shown():
            if item.locked is not None:
                found.setdefault(item.locked, []).append(item)
        return found

    def sent(self) -> dict[str, str]:
        """The texts that a preview hands on: of what is not locked."""
        return {
            each.name: self.texts[each.name]
            for row in self.fields
            if row.key not in self.locked
            for each in row.inputs
        }

    def in_words(self, differences: Iterable[FieldDifference]) -> list[DiffLine]:
        """Differences with the labels of the form."""
        by_key = {each.key: each for each in self.fields}
        lines = []
        for one in differences:
            key, rest = _parted(one.field)
            known = by_key.get(key)
            label = _labelled(known, one.field, rest) if known else one.field
            hints = (self._value_hint(known, rest, text) for text in (one.before, one.after))
            lines.append(DiffLine(label, one.before, one.after, *hints))
        return lines

    def _hint(self, part: Input) -> str:
        """The text in human units, as far as the token is known."""
        text = self.texts.get(part.name, "")
        if part.unit_of is not None and part.kind == "digits":
            return in_units(text, self._token(part.unit_of))
        if part.unit_of is not None:
            return "; ".join(self._tier_hints(text, part.unit_of))
        return percent_of(text) if part.name in _PPM else ""

    def _tier_hints(self, text: str, unit_of: str) -> Iterator[str]:
        for words in map(str.split, text.splitlines()):
            start = in_units(words[0], self._token(unit_of)) if len(words) == 2 else ""
            if start:
                yield f"from {start}: {percent_of(words[1])}"

    def _token(self, unit_of: str) -> tuple[int, str] | None:
        chain, symbol = self.texts.get(unit_of, ""), self.texts.get("symbol", "")
        return (int(chain), symbol) if chain.isascii() and chain.isdigit() and len(chain) < 20 else None

    def _value_hint(self, known: Field | None, rest: str, text: str | None) -> str:
        if known is None or text is None:
            return ""
        (part, *_) = known.inputs
        if rest.endswith(".ppm") or part.name in _PPM:
            return percent_of(text)
        if part.unit_of is not None:
            return in_units(text, self._token(part.unit_of))
        if part.name.endswith("chain_id") and text.isascii() and text.isdigit():
            return chain_names().get(int(text[:20]), "")
        return ""


def _parted(name: str) -> tuple[str, str]:
    """A field such as ``perc_fee_tiers[1].ppm`` as its key and the rest."""
    ends = [at for at in (name.find("."), name.find("[")) if at >= 0]
    at = min(ends, default=len(name))
    return name[:at], name[at:]


def _labelled(known: Field, path: str, rest: str) -> str:
    name, where = known.place(path)
    label = next(part.label for part in known.inputs if part.name == name)
    if where:
        return f"{label}, {where.removesuffix(': ')}"
    return label + (f", {rest.lstrip('.')}" if rest and len(known.inputs) == 1 else "")
