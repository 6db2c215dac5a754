"""Formats of values on the console's pages: hashes, times, amounts, states, browsers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from flask import Flask, url_for
from markupsafe import Markup

from app.http.headers import digest
from app.values import amounts
from app.values.amounts import format_units
from app.values.json_values import read_time
from app.values.times import rfc3339, span_in_words


class Look(StrEnum):
    """How a state looks, as a pill or a tile. Pages take the looks of everything that they show from here."""

    GOOD = "good"
    """It is known that nothing is wrong."""
    WARN = "warn"
    BAD = "bad"
    BUSY = "busy"
    PLAIN = "plain"
    """Neither good nor bad."""
    UNKNOWN = "unknown"
    """It is not known. It says since when, or that it never was."""


def look_of_count(number: int, otherwise: Look, *, known: bool) -> Look:
    """The look of a number of things to do: zero is good only if it is known to be zero.

    :param otherwise: the look of any other number.
    """
    if number:
        return otherwise
    return Look.GOOD if known else Look.UNKNOWN


def look_of_age(at: datetime | None, now: datetime, allowed: timedelta) -> Look:
    """The look of something that has to happen again and again: unknown where it never did."""
    if at is None:
        return Look.UNKNOWN
    return Look.WARN if now - at > allowed else Look.GOOD


class Tone(StrEnum):
    """What kind of status a transfer has."""

    UNKNOWN = "unknown"
    MOVING = "moving"
    DONE = "done"
    FAILED = "failed"
    REFUND = "refund"
    WAITING_FOR_USER = "waiting_for_user"


# Browsers also name older ones: Edge names Chrome and Safari, Chrome names Safari. The first match counts.
_BROWSERS: Final = (
    (re.compile(r"Edg(?:e|A|iOS)?/"), "Edge"),
    (re.compile(r"OPR/|Opera"), "Opera"),
    (re.compile(r"SamsungBrowser/"), "Samsung Internet"),
    (re.compile(r"Firefox/|FxiOS/"), "Firefox"),
    (re.compile(r"Chrome/|Chromium/|CriOS/"), "Chrome"),
    (re.compile(r"Safari/"), "Safari"),
)
_SYSTEMS: Final = (
    (re.compile(r"iPhone"), "iPhone"),
    (re.compile(r"iPad"), "iPad"),
    (re.compile(r"Android"), "Android"),
    (re.compile(r"Windows"), "Windows"),
    (re.compile(r"CrOS"), "ChromeOS"),
    (re.compile(r"Macintosh|Mac OS X"), "macOS"),
    (re.compile(r"Linux|X11"), "Linux"),
)
_PRODUCT: Final = re.compile(r"[A-Za-z][A-Za-z ._-]{0,30}(?=/)", re.ASCII)

UNKNOWN: Final = "Unknown browser"


def browser_name(agent: str) -> str:
    """The browser and its system by its User-Agent, which may be any text.

    Versions are omitted: browsers freeze them, and people do not know theirs.
    """
    browser = next((name for pattern, name in _BROWSERS if pattern.search(agent)), None)
    system = next((name for pattern, name in _SYSTEMS if pattern.search(agent)), None)
    if browser is None:
        product = _PRODUCT.match(agent)
        browser = product[0] if product and product[0] != "Mozilla" else UNKNOWN
    return f"{browser} on {system}" if system else browser


STATIC: Final = Path(__file__).parents[1] / "static"

_SHOWN_WHOLE: Final = 20
"""Texts up to this length are not cut."""

_WORDS: Final = {'""': "empty", "null": "none", "[]": "none", "{}": "none", "true": "yes", "false": "no"}
"""Texts for the JSON words in differences."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def register(app: Flask) -> None:
    """Make the formats known to the templates."""
    app.add_template_global(asset, "asset")
    app.jinja_env.globals["tones"] = TONES
    filters: tuple[Callable[..., str], ...] = (
        cut, when, grouped, figure, units, pill, unknown, span, duration, share, sentence, worded,
        browser_name, action_words,
    )  # fmt: skip
    for function in filters:
        app.add_template_filter(function)


TONES: Final = {
    Tone.UNKNOWN.value: Look.UNKNOWN,
    Tone.MOVING.value: Look.BUSY,
    Tone.DONE.value: Look.GOOD,
    Tone.FAILED.value: Look.BAD,
    Tone.REFUND.value: Look.WARN,
    Tone.WAITING_FOR_USER.value: Look.PLAIN,
}
"""The look of a state's pill by its tone."""


def asset(name: str) -> str:
    """The address of a static file. It changes with the content, so the file may be cached for ever."""
    return url_for("console.static", filename=name, v=digest(STATIC / name))


def cut(text: str | bytes | None) -> Markup:
    """A long hash or address with only its beginning and end. Hovering shows all of it, a click copies it."""
    if text is None or text == "":
        return Markup('<span class="none">–</span>')
    whole = f"0x{text.hex()}" if isinstance(text, bytes) else text
    if len(whole) <= _SHOWN_WHOLE:
        return Markup('<span class="mono">{}</span>').format(whole)
    return Markup(
        '<button type="button" class="hash mono" data-copy="{0}" title="{0}" '
        'aria-label="{1}…{2}, copy">{1}…{2}</button>'
    ).format(whole, whole[:8], whole[-6:])


def when(at: datetime | None) -> Markup:
    """A time, in UTC until the page's script puts it into the reader's zone."""
    if at is None:
        return Markup('<span class="none">–</span>')
    iso, shown = rfc3339(at, "seconds"), f"{at:%Y-%m-%d %H:%M:%S}"
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(iso, shown, shown)


def worded(value: str | None) -> str:
    """A value in a table of differences: times as times, JSON words as plain words."""
    if value is None:
        return "–"
    if _TIME.fullmatch(value):
        try:
            return when(read_time(value))
        except ValueError:
            return value
    return _WORDS.get(value, value)


def action_words(action: str) -> str:
    """What a record of the audit log calls an action: ``network.base_fees`` is ``network: base fees``."""
    return action.replace(".", ": ").replace("_", " ")


def span(duration: timedelta | None) -> str:
    """A duration in its two largest units, such as ``2 h 5 min``."""
    return "–" if duration is None else span_in_words(duration)


def duration(seconds: float) -> str:
    """A duration in seconds, in its two largest units."""
    return span(timedelta(seconds=round(seconds)))


def share(ppm: int) -> str:
    """Millionths as a percentage, rounded down to a tenth: ``12.3 %``."""
    tenths = ppm // 1_000
    return f"{tenths // 10}.{tenths % 10} %"


def grouped(value: int | str | None) -> str:
    """A whole number with spaces between its thousands."""
    return "–" if value is None else amounts.grouped(int(value))


def figure(text: str) -> str:
    """A text that begins with a number, such as ``12345.5 USDT``, with the thousands grouped."""
    whole = re.match(r"-?[0-9]+", text)
    return grouped(whole[0]) + text[whole.end() :] if whole and len(whole[0]) < 100 else text


def units(smallest: int | None, decimals: int) -> str:
    """An amount in whole tokens, exact, with the thousands grouped: ``1 234.5``."""
    return "–" if smallest is None else figure(format_units(smallest, decimals))


def sentence(text: str) -> str:
    """The text with a capital letter at its start and a stop at its end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ":")) else ".")


def pill(text: Any, look: str = Look.PLAIN) -> Markup:
    """A state as a pill.

    :param look: the value of a ``Look``.
    :raises ValueError: there is no such look.
    """
    return Markup('<span class="pill pill-{}">{}</span>').format(Look(look).value, text)


def unknown(text: Any, since: datetime | None = None) -> Markup:
    """A state that is not known, as a pill, and since when; without a time it never was known.

    :param text: what does not happen or is not there, such as *not read*.
    """
    words = Markup("since {}").format(when(since)) if since else "so far"
    return Markup('<span class="unknown">{} <small class="smallest since">{}</small></span>').format(
        pill(text, Look.UNKNOWN), words
    )


_RUN_BY_SPREADSHEETS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


def neutral_cell(value: Any) -> str:
    """The value of a CSV cell, safe from being run as a formula by a spreadsheet (OWASP, CSV injection).

    A leading apostrophe makes a spreadsheet take it as text. Numbers do not change.
    """
    text = "" if value is None else str(value)
    if text.startswith(_RUN_BY_SPREADSHEETS) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def csv_line(cells: Iterable[Any]) -> str:
    """A line of a CSV file; no cell of it is a formula."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([neutral_cell(cell) for cell in cells])
    return buffer.getvalue()
