"""The languages of the public pages: which one a request gets, and its texts, numbers and times.

Everything else stays English. Flask-Admin, Flask-Security and Flask-WTF translate as soon as Flask-Babel is
installed, so :func:`open_languages` is called in every application with pages or a console.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import localcontext
from pathlib import Path
from typing import Any, Final

from babel import Locale
from babel.dates import format_skeleton, get_datetime_format
from babel.numbers import format_decimal, get_decimal_symbol
from babel.units import format_unit
from flask import Flask, Request, request
from flask_babel import Babel, Domain, force_locale, get_locale

from app.http.public import TRANSFER_PAGES
from app.transfer_page.rules.reader import ENGLISH, Reader
from app.values.amounts import MAX_UINT256_DIGITS, format_units

LANGUAGES: Final = {"en": "English", "es": "Español", "zh-Hans": "简体中文"}
"""The names of the languages in themselves, by their tags (BCP 47)."""

QUERY: Final = "lang"
"""The parameter by which a reader chooses a language ..."""

COOKIE: Final = "lang"
"""... and the cookie that remembers it."""

COOKIE_SECONDS: Final = 365 * 24 * 3600

_TRADITIONAL: Final = {"hant", "tw", "hk", "mo"}
_DOMAIN: Final = Domain([str(Path(__file__).parent / "translations")], "pages")
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def language_of(tag: str) -> str | None:
    """The language for a tag such as ``es-MX``; None where there is none. Chinese without a script counts as
    simplified, unless the region writes the traditional one.
    """
    language, *further = tag.replace("_", "-").lower().split("-")
    if language == "zh":
        return None if _TRADITIONAL & set(further) else "zh-Hans"
    return language if language in LANGUAGES else None


def language_of_request(incoming: Request) -> str:
    """The language chosen with this request, else before, else the first of ``Accept-Language``."""
    tags = (
        incoming.args.get(QUERY, ""),
        incoming.cookies.get(COOKIE, ""),
        *(tag for tag, quality in incoming.accept_languages if quality > 0),
    )
    return next(filter(None, map(language_of, tags)), ENGLISH.language)


def _locale_of_request() -> str:
    """For the pages; English elsewhere."""
    if not request.path.startswith(TRANSFER_PAGES):
        return ENGLISH.language
    return _locale(language_of_request(request))


def _locale(language: str) -> str:
    return language.replace("-", "_")


def open_languages(app: Flask) -> None:
    """Have the pages translated, and nothing else. It can be called twice."""
    if "babel" not in app.extensions:
        Babel(app, configure_jinja=False, default_locale=ENGLISH.language, locale_selector=_locale_of_request)


@contextmanager
def reading(language: str) -> Iterator[Reader]:
    """Somebody who reads this one of ``LANGUAGES``, whatever the request says."""
    with force_locale(_locale(language)):
        yield current_reader()


def current_reader() -> Reader:
    locale = get_locale()
    if locale is None or locale.language == ENGLISH.language:
        return ENGLISH
    return _Translated(locale)


def texts() -> Any:
    """The catalogue of the language of this request."""
    return _DOMAIN.get_translations()


class _Translated(Reader):
    def __init__(self, locale: Locale) -> None:
        self._locale = locale
        self._texts = texts()
        self.language = str(locale).replace("_", "-")

    def text(self, message: str, **values: str) -> str:
        translated: str = self._texts.gettext(message)
        return translated % values

    def plural(self, one: str, several: str, number: int, **values: str) -> str:
        translated: str = self._texts.ngettext(one, several, number)
        return translated % (values | {"num": self.number(number)})

    def number(self, number: int) -> str:
        with localcontext(prec=MAX_UINT256_DIGITS):  # that of a decimal context is 28
            return format_decimal(number, locale=self._locale)

    def amount(self, smallest: int, decimals: int, symbol: str) -> str:
        whole, _, fraction = format_units(smallest, decimals).partition(".")
        text = self.number(int(whole))
        if fraction:
            text += get_decimal_symbol(self._locale) + fraction
        return f"{text} {symbol}"

    def span(self, duration: timedelta) -> str:
        seconds = int(duration.total_seconds())
        parts: list[str] = []
        for unit, size in _UNITS:
            count, seconds = divmod(seconds, size)
            if count or (size == 1 and not parts):
                parts.append(format_unit(count, f"duration-{unit}", "short", locale=self._locale))
        if len(parts) == 1:
            return parts[0]
        return self.text("%(larger_unit)s %(smaller_unit)s", larger_unit=parts[0], smaller_unit=parts[1])

    def time(self, at: datetime) -> str:
        together = str(get_datetime_format("short", self._locale))
        for place, skeleton in (("{0}", "Hm"), ("{1}", "MMMd")):
            together = together.replace(place, format_skeleton(skeleton, at, locale=self._locale))
        return f"{together} UTC"
