"""Texts from outside, as they may stand in a line for people: of a log, of a command's output."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with everything that ends a line or steers a terminal written as an escape, such as ``\n``.

    That is all that Unicode does not call printable: control characters, every kind of line break, characters
    without a width or that turn the direction of writing, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
