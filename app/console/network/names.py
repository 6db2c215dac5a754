"""Names of chains and decimals of tokens for the console's pages, read once per request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from flask import has_request_context, url_for
from markupsafe import Markup
from sqlalchemy import or_

from app.console.shell.formats import grouped, units, when
from app.console.shell.forms.fields import Choices
from app.console.shell.lists import Choice
from app.console.shell.views import once_per_request, read
from app.db.database import Database
from app.db.models import Base
from app.http.application import current
from app.json_documents import Amount, Time, WholeNumber
from app.network import queries
from app.network.history import StoppedChain, chains_stopped_now
from app.network.models.columns import Declared, declared_columns
from app.network.models.document_fields import AnyChain
from app.network.models.value_fields import Ppm, Tiers
from app.values.amounts import format_units
from app.values.json_values import read_time

_ENDS = ("src_chain_id", "dst_chain_id", "org_chain_id", "pegged_chain_id", "chain_id")

NOT_KNOWN = "not known"
"""Shown for a fee that is not set yet."""

_PLACES: Final = 6
_DIGITS: Final = 3
"""Decimals of an amount in a table. Smaller amounts show more, until so many digits are visible."""


@once_per_request
def chain_names() -> dict[int, str]:
    """Names of the chains by id, sorted by name. A page may add one that is not saved yet."""
    return dict(sorted(read(queries.chain_names).items(), key=lambda item: item[1].casefold()))


@once_per_request
def stopped_chains() -> list[StoppedChain]:
    """The stopped chains, the last stopped first."""
    return chains_stopped_now(current(Database))


@once_per_request
def token_decimals() -> Mapping[tuple[int, str], int]:
    """Decimals by chain id and symbol."""
    return read(queries.token_decimals)


def chain_choices() -> Choices:
    """The chains for a select."""
    return [(str(chain_id), f"{name} ({chain_id})") for chain_id, name in chain_names().items()]


def symbol_choices() -> Choices:
    """The symbols of all tokens for a select."""
    symbols = sorted({symbol for _, symbol in token_decimals()}, key=str.casefold)
    return [(symbol, symbol) for symbol in symbols]


def decimals_by_pool() -> dict[str, int]:
    """Decimals by ``"CHAIN SYMBOL"``, for the page's script."""
    return {f"{chain_id} {symbol}": found for (chain_id, symbol), found in token_decimals().items()}


def chain_cell(chain_id: int | None) -> Markup:
    """A chain's name followed by its id."""
    if chain_id is None:
        return Markup('<span class="none">–</span>')
    name = chain_names().get(chain_id)
    if name is None:
        return Markup('chain {} <span class="faint">not configured</span>').format(chain_id)
    return Markup('{} <span class="faint">{}</span>').format(name, chain_id)


def chain_page(chain_id: int, section: str | None = None) -> str:
    """The address of the page about a chain, or of a section of it."""
    return url_for("chains.edit", key=chain_id, _anchor=section)


_IDS: Final = re.compile(
    r" \(chain (?P<behind>\d+)\)"  # after the chain's name
    r"|\bchain (?P<chain>\d{1,20})\b"
    r"|(?P<of>\b(?:route|block) of [^,:;]+? from |\bpegged pair of [^,:;]+, )"
    r"(?P<src>\d{1,20}) to (?P<dst>\d{1,20})\b"
    r"|\b(?P<day>\d{4}-\d\d-\d\d)(?:T| )(?P<time>\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|\+00:00| UTC)",
    re.ASCII,
)


def readable(text: str, *, numbered: bool = False) -> Markup:
    """A sentence of a service or of the audit log with the names of its chains, and times as pages show them.

    The log names rows by the ids of chains, because these never change. A chain that is not configured
    stays as it is, and so does what only looks like a time.

    :param numbered: a chain's id follows its name.
    """
    parts, end = list[str](), 0
    for match in _IDS.finditer(text):
        parts += [text[end : match.start()], *_named(text, match, numbered)]
        end = match.end()
    return Markup("").join([*parts, text[end:]])


def _named(text: str, match: re.Match[str], numbered: bool) -> Iterator[str]:
    """In place of a match. What is cut from the text is as safe as the text is."""
    if match["time"]:
        seconds = "" if match["time"].count(":") > 1 else ":00"
        try:
            yield when(read_time(f"{match['day']}T{match['time']}{seconds}Z"))
        except ValueError:  # somebody wrote a time that does not exist
            yield match[0]
    elif match["chain"]:
        name = chain_names().get(int(match["chain"]))
        yield match[0] if name is None else f"{name} ({match['chain']})" if numbered else name
    elif numbered and match["behind"]:
        yield f" ({match['behind']})"
    elif match["of"]:
        yield text[match.start("of") : match.end("of")]
        ends = (chain_names().get(int(match[end]), match[end]) for end in ("src", "dst"))
        yield " to ".join(ends)


def row_title(one: str, values: Mapping[str, Any]) -> str:
    """What a row is called in headings and links, by the names of its chains.

    :param one: the name of one such row, such as ``route``.
    :param values: the row as the document writes it, or as much of it as is known.
    """
    if "address" in values and "symbol" not in values:
        return f"{one} {values['address']}"
    if "cidr" in values:
        return f"{one} {values['cidr']}"
    if "id" in values:
        return f"{one} {values.get('name', '')} ({values['id']})"
    names, symbol = chain_names(), values.get("symbol", "")
    ends = [values[key] for key in _ENDS if key in values]
    called = [names.get(end, f"chain {end}") for end in ends]
    if len(called) == 2:
        return f"{one} of {symbol} from {called[0]} to {called[1]}"
    return f"{one} {symbol} on {called[0]}" if called else one


def amount_cell(
    smallest: int | None, chain_id: int, symbol: str, none: str = "–", own_decimals: int | None = None
) -> Markup:
    """An amount in tokens, cut where it has many decimals; all of it, and the smallest units, on hover.

    :param own_decimals: those of a pair's own token, where it has some.
    """
    if smallest is None:
        return Markup('<span class="none">{}</span>').format(none)
    decimals = token_decimals().get((chain_id, symbol)) if own_decimals is None else own_decimals
    if decimals is None:
        return Markup('<span title="{0} smallest units of {1}">{0}</span>').format(grouped(smallest), symbol)
    if smallest < 0:
        return Markup("−{}").format(amount_cell(-smallest, chain_id, symbol, own_decimals=own_decimals))
    whole = units(smallest, decimals)
    return Markup(
        '<span class="nowrap" title="{} {} = {} smallest units">{} <span class="faint">{}</span></span>'
    ).format(whole, symbol, grouped(smallest), _for_reading(whole), symbol)


def _for_reading(amount: str) -> str:
    """An amount with few decimals; an ellipsis shows that there are more."""
    whole, _, fraction = amount.partition(".")
    zeros = len(fraction) - len(fraction.lstrip("0"))
    places = max(_PLACES, zeros + _DIGITS)
    return amount if len(fraction) <= places else f"{whole}.{fraction[:places]}…"


def percent(ppm: int | None) -> str:
    """``400`` parts per million is ``0.04 %``."""
    return "–" if ppm is None else f"{format_units(ppm, 4)} %"


def tiers_cell(
    tiers: Sequence[tuple[int, int]] | None, chain_id: int, symbol: str, own_decimals: int | None = None
) -> Markup:
    """The first tier's share and the last one's; all of them on hover."""
    if tiers is None:
        return Markup('<span class="none">{}</span>').format(NOT_KNOWN)
    (_, first), *more = tiers
    if not more:
        return Markup("{}").format(percent(first))
    decimals = token_decimals().get((chain_id, symbol)) if own_decimals is None else own_decimals
    lines = [
        f"from {grouped(start) if decimals is None else units(start, decimals)}: {percent(ppm)}"
        for start, ppm in tiers
    ]
    return Markup(
        '<span class="nowrap" title="{}">{} to {}</span><small class="smallest">{} tiers</small>'
    ).format("\n".join(lines), percent(first), percent(tiers[-1][1]), len(tiers))


def cells(model: type[Base]) -> dict[str, Any]:
    """The formats of a list for columns that are chains, times and parts per million."""
    return {
        name: partial(_shown, cell)
        for name, each in declared_columns(model).items()
        for shape, cell in _CELLS
        if isinstance(each.shape, shape)
    }


_CELLS: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (AnyChain, chain_cell),
    (Time, when),
    (Ppm, percent),
)


def _shown(cell: Callable[[Any], Any], view: Any, context: Any, row: Any, name: str) -> Any:
    return cell(getattr(row, name))


def is_number(column: Declared) -> bool:
    """Whether a list shows the column as a number. A chain is shown by its name."""
    return isinstance(column.shape, Amount | Tiers | WholeNumber) and not isinstance(column.shape, AnyChain)


class _OfTheNetwork(Choice):
    """One of the values that are configured when the page is requested."""

    def __init__(self, column: Any, name: str, choices: Callable[[], Choices]) -> None:
        super().__init__(column, name, [])
        self.choices = choices

    def get_options(self, view: Any) -> Choices:
        # The library requests them at the start, too, without a database.
        return self.choices() if has_request_context() else []

    def validate(self, value: str) -> bool:
        return value in dict(self.choices())


class ChainIs(_OfTheNetwork):
    """One of the chains, in any of several columns."""

    def __init__(self, column: Any, name: str, *others: Any) -> None:
        super().__init__(column, name, chain_choices)
        self.others = others

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        return query.filter(or_(*(each == int(value) for each in (self.get_column(alias), *self.others))))


class SymbolIs(_OfTheNetwork):
    """One of the tokens' symbols."""

    def __init__(self, column: Any) -> None:
        super().__init__(column, "Token", symbol_choices)
