"""Reads pasted lists of accounts and networks to block, line by line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from marshmallow import ValidationError

from app.domain.amounts import grouped
from app.domain.blocking import as_network
from app.services.network.reader import messages_by_path
from app.services.network.sections import Row, Section

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "blocked_addresses": ("address", "reason", "source", "expires_at"),
    "blocked_networks": ("cidr", "reason", "expires_at"),
}
"""The cells of a line in their order; only the first is required."""

HEADINGS: Final = frozenset({"address", "cidr", "network"})
"""First cells of a heading, as spreadsheets have one. Such a line is skipped."""

MAX_LINES: Final = 100_000
MAX_LINE: Final = 4096
LONGEST_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class GoodLine:
    """A line that can be taken. ``typed`` is its first cell as it was pasted."""

    number: int
    row: Row
    typed: str


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line that cannot be taken: its number from 1, its text as far as it is shown, and the reason."""

    number: int
    text: str
    reason: str


def read_lines(section: Section, text: str, shared: Mapping[str, Any]) -> Iterator[GoodLine | InvalidLine]:
    """Every line except blank ones, headings, and comments that begin with ``#``.

    Cells are separated by commas, or by tabs as spreadsheets copy them.

    :param shared: ``reason``, ``source`` and ``expires_at`` of lines that give none, as the network
        document writes them.
    """
    for number, line in enumerate(_lines(text), 1):
        if number > MAX_LINES:
            yield InvalidLine(
                number,
                "",
                f"the list has more than {grouped(MAX_LINES)} lines: add the rest in a second list",
            )
            return
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            read = _read(section, number, stripped, shared)
            if read is not None:
                yield read


def _lines(text: str) -> list[str]:
    """The lines as a form numbers them, without the mark that spreadsheets put before the first."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read(
    section: Section, number: int, line: str, shared: Mapping[str, Any]
) -> GoodLine | InvalidLine | None:
    def invalid(reason: str) -> InvalidLine:
        return InvalidLine(number, line[:LONGEST_SHOWN], reason)

    columns, delimiter = COLUMNS[section.name], "\t" if "\t" in line else ","
    if len(line) > MAX_LINE:
        return invalid(f"is longer than {grouped(MAX_LINE)} characters")
    try:
        (cells,) = csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        return invalid("a quotation mark is not closed")
    cells = [cell.strip() for cell in cells]
    if cells[0].casefold() in HEADINGS:
        return None
    if any(cells[len(columns) :]):
        return invalid(f"has more than {len(columns)} columns ({', '.join(columns)})")
    given = {name: cell for name, cell in zip(columns, cells, strict=False) if cell}
    if section.name == "blocked_networks" and "cidr" in given:
        given["cidr"] = as_network(given["cidr"])
    try:
        row: Row = section.schema.load({**shared, **given})
    except ValidationError as error:
        return invalid("; ".join(f"{path} {message}" for path, message in messages_by_path(error.messages)))
    return GoodLine(number, row, cells[0])
