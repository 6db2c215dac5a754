"""What a browser calls itself, in the words of its owner: ``Chrome on Linux``."""

from __future__ import annotations

import re
from typing import Final

# Browsers name those before them, too: Edge says Chrome and Safari, Chrome says Safari. First match counts.
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
    """The browser and its system, as far as its User-Agent tells: that may be any text.

    Versions are left out: browsers freeze them, and nobody tells their own by them.
    """
    browser = next((name for pattern, name in _BROWSERS if pattern.search(agent)), None)
    system = next((name for pattern, name in _SYSTEMS if pattern.search(agent)), None)
    if browser is None:
        product = _PRODUCT.match(agent)
        browser = product[0] if product and product[0] != "Mozilla" else UNKNOWN
    return f"{browser} on {system}" if system else browser
