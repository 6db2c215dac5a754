"""Removes private values from texts for logs: secrets, and addresses together with accounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote

HIDDEN: Final = "<hidden>"
SHORTEST: Final = 8
"""Characters of the shortest value that is searched for: shorter ones are parts of words."""

# Bounded everywhere: callers choose the text, and no length of it may cost too much.
_SECRETS: Final = re.compile(
    r"(?P<url>://[^/\s:@]{0,128}:)[^/\s@]{1,256}(?=@)"
    r"|(?P<name>\b(?:bearer\s+|(?:password|passwd|secret|token|api_?key|console|session|csrf_token)=))[^\s&;,'\"]{1,512}"
    r"|\b(?:gw[ik]_[0-9A-Za-z_-]{20,128}|whsec_[0-9A-Za-z+/=_-]{16,128})",
    re.ASCII | re.IGNORECASE,
)
_IPV4: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w)", re.ASCII)
_IPV6: Final = re.compile(r"(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}", re.ASCII | re.IGNORECASE)
_WALLET: Final = re.compile(r"0x[0-9a-f]{40}(?![0-9a-f])", re.ASCII | re.IGNORECASE)
_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}\.\w", re.ASCII)


class Private:
    """Knows the secrets of this process by their values, and other secrets by their form."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: re.Pattern[str] | None = None
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these values from now on, also when they are quoted for a URL."""
        values = {value for value in secrets if len(value) >= SHORTEST}
        written = sorted(values | {quote(value, safe="") for value in values}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, written))) if written else None

    def without(self, texts: Sequence[str]) -> list[str]:
        """The parts of one entry, with secrets hidden.

        Addresses of machines are hidden, too, where the entry names an account: a wallet or an email. Either
        is needed for support, but both together reveal where a person is.
        """
        hidden = [self._without_secrets(text) for text in texts]
        if any(map(_names_account, hidden)):
            hidden = [_IPV6.sub(_hide_address, _IPV4.sub(HIDDEN, text)) for text in hidden]
        return hidden

    def looks_secret(self, text: str) -> bool:
        """Whether something in the text looks like a secret."""
        return _SECRETS.search(text) is not None

    def is_free(self, text: str) -> bool:
        """Whether the text contains no secret."""
        return self._without_secrets(text) == text

    def _without_secrets(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _SECRETS.sub(_hide_secret, text)


def _hide_secret(match: re.Match[str]) -> str:
    return f"{match['url'] or match['name'] or ''}{HIDDEN}"


def _hide_address(match: re.Match[str]) -> str:
    try:
        ip_address(match[0])
    except ValueError:
        return match[0]  # a time of day, such as 12:00:00
    return HIDDEN


def _names_account(text: str) -> bool:
    return _WALLET.search(text) is not None or ("@" in text and _EMAIL.search(text) is not None)


PRIVATE: Final = Private()
"""Of this process. The code that reads the settings adds their secrets."""
