"""Who reads: the language of the texts, and the form of numbers and times in it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from app.values.amounts import grouped, tokens_text
from app.values.times import span_in_words


class Reader:
    """The language of somebody who reads, and the form of numbers and times in it: here English."""

    language = "en"

    def text(self, message: str, **values: str) -> str:
        """``message`` is in English, with values as ``%(name)s``; one without a translation stays English."""
        return message % values

    def plural(self, one: str, several: str, number: int, **values: str) -> str:
        """A text for so many: ``%(num)s`` in it is the number."""
        return (one if number == 1 else several) % (values | {"num": self.number(number)})

    def number(self, number: int) -> str:
        """With its thousands apart."""
        return grouped(number)

    def amount(self, smallest: int, decimals: int, symbol: str) -> str:
        """From smallest units: in whole tokens, exact and with the token's symbol."""
        return tokens_text(smallest, decimals, symbol)

    def span(self, duration: timedelta) -> str:
        """A duration in its two largest units."""
        return span_in_words(duration)

    def time(self, at: datetime) -> str:
        """Day, hour and minute in UTC, without the year."""
        return f"{at:%-d %b %H:%M} UTC"


ENGLISH: Final = Reader()


def message(text: str) -> str:
    """Name a text for the catalogues that is looked up elsewhere."""
    return text
