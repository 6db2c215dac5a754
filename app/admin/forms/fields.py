"""Fields of the forms that edit the network: texts in a form, values in the network document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.admin.network_words import Choices, chain_choices, percent, symbol_choices
from app.domain.amounts import MAX_UINT256_DIGITS, is_ascii_digits, is_uint256

Texts = Mapping[str, str]
"""What stands in a form, by input."""

_SPACES: Final = re.compile("[\\s_\u2009\u202f\u00a0]+")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:\d\d)$", re.ASCII)


class Wrong(ValueError):
    """What is wrong with the text of one input, for the operator who typed it."""

    def __init__(self, input_name: str, message: str) -> None:
        super().__init__(message)
        self.input_name = input_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input of a form.

    ``kind`` is line, digits, lines, flag, choice or list (a line with suggestions). ``unit_of`` is the
    key of the chain whose token an amount is of. ``only_for`` is an input and the value of it that this
    one belongs to.
    """

    name: str
    label: str
    help: str = ""
    kind: str = "line"
    choices: Callable[[], Choices] | None = None
    unit_of: str | None = None
    only_for: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One key of the document's row. ``read`` raises ``Wrong``; ``start`` is the texts of a new row."""

    key: str
    inputs: tuple[Input, ...]
    read: Callable[[Texts], Any]
    write: Callable[[Any], dict[str, str]]
    start: Mapping[str, str]

    def place(self, path: str) -> tuple[str, str]:
        """The input that a path of the document is about, and where in it."""
        names = [each.name for each in self.inputs]
        flat = path.replace(".", "_")
        if flat in names:
            return flat, ""
        line = re.match(r"\w+\[(\d+)\](?:\.(\w+))?", path)
        if line is None:
            return names[0], ""
        part = f", {line[2]}" if line[2] else ""
        return names[0], f"line {int(line[1]) + 1}{part}: "


def _single(
    key: str, each: Input, read: Callable[[str], Any], write: Callable[[Any], str], start: str = ""
) -> Field:
    def read_text(texts: Texts) -> Any:
        try:
            return read(texts[key])
        except ValueError as error:
            raise Wrong(key, str(error)) from None

    return Field(key, (each,), read_text, lambda value: {key: write(value)}, {key: start})


def line(key: str, label: str, help: str = "", *, needed: bool = True, start: str = "") -> Field:  # noqa: A002
    """A line of text, without spaces at its ends."""
    return _single(key, Input(name=key, label=label, help=help), _line(needed), str, start)


def suggested(key: str, label: str, help: str, choices: Callable[[], Choices]) -> Field:  # noqa: A002
    """A line of text with suggestions."""
    each = Input(name=key, label=label, help=help, kind="list", choices=choices)
    return _single(key, each, _line(True), str)


def note(key: str, label: str, help: str) -> Field:  # noqa: A002
    """A text of several lines that may be empty."""
    return _single(key, Input(name=key, label=label, help=help, kind="lines"), _lines, str)


def flag(key: str, label: str, help: str, start: str = "0") -> Field:  # noqa: A002
    """Yes or no."""
    each = Input(name=key, label=label, help=help, kind="flag")
    return _single(key, each, lambda text: text == "1", lambda value: "1" if value else "0", start)


def whole(key: str, label: str, help: str = "", *, needed: bool = True, start: str = "") -> Field:  # noqa: A002
    """A whole number."""
    each = Input(name=key, label=label, help=help, kind="digits")
    return _single(key, each, _whole(needed), _number_text, start)


def amount(
    key: str,
    label: str,
    help: str,  # noqa: A002
    unit_of: str | None,
    *,
    needed: bool = True,
    start: str = "",
) -> Field:
    """An amount in smallest units; without ``needed`` an empty text is none."""
    each = Input(name=key, label=label, help=help, kind="digits", unit_of=unit_of)
    return _single(key, each, _amount(needed), _number_text, start)


def chain(key: str, label: str, help: str = "") -> Field:  # noqa: A002
    """One of the chains."""
    each = Input(name=key, label=label, help=help, kind="choice", choices=chain_choices)
    return _single(key, each, _chosen_chain, str)


def any_chain(key: str, label: str, help: str) -> Field:  # noqa: A002
    """A chain that may not be configured yet, by its id."""
    each = Input(name=key, label=label, help=help, kind="list", choices=chain_choices)
    return _single(key, each, _whole(True), str)


def symbol(help: str = "") -> Field:  # noqa: A002
    """One of the tokens' symbols."""
    each = Input(name="symbol", label="Token", help=help, kind="choice", choices=symbol_choices)
    return _single("symbol", each, _line(True, "choose a token"), str)


def end(key: str = "expires_at") -> Field:
    """When a block ends; empty is never."""
    help_ = "In UTC, such as 2027-01-31 18:00. Empty: never."
    return _single(key, Input(name=key, label="Ends", help=help_), read_end, _end_text)


def tiers(unit_of: str) -> Field:
    """Fee tiers, a line each."""
    key = "perc_fee_tiers"
    each = Input(
        name=key,
        label="Protocol fee tiers",
        help="A line for each tier: the amount it begins at, in the source token's smallest units, a space, "
        "and the fee in ppm (parts per million of the whole amount; 10000 is 1 %, the most is 20000). "
        "The first begins at 0, each other higher than the one before.",
        kind="lines",
        unit_of=unit_of,
    )
    return _single(key, each, _tiers, _tiers_text, "0 400")


def rate() -> Field:
    """A fixed rate, or the curve over both pools."""
    models = [("fixed", "Fixed value"), ("stableswap", "StableSwap curve over the two pools")]
    model = Input(name="rate_model", label="Rate", kind="choice", choices=lambda: models)
    value = Input(
        name="rate_value",
        label="Fixed value",
        help="Destination tokens for one source token, such as 1 or 1.000001.",
        only_for=("rate_model", "fixed"),
    )
    amplification = Input(
        name="rate_amplification",
        label="Amplification",
        help="The curve's A, from 1 to 1000000: the higher, the longer the rate stays near 1.",
        kind="digits",
        only_for=("rate_model", "stableswap"),
    )
    start = {"rate_model": "fixed", "rate_value": "1", "rate_amplification": ""}
    return Field("rate", (model, value, amplification), _rate, _rate_texts, start)


def _line(needed: bool, otherwise: str = "must not be empty") -> Callable[[str], str]:
    def read(text: str) -> str:
        if needed and not text.strip():
            raise ValueError(otherwise)
        return text.strip()

    return read


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _whole(needed: bool) -> Callable[[str], int | None]:
    def read(text: str) -> int | None:
        digits = _SPACES.sub("", text)
        if not digits and not needed:
            return None
        if not is_ascii_digits(digits):
            raise ValueError("must be a whole number, in digits alone")
        if len(digits) > 20:
            raise ValueError("is far too large")
        return int(digits)

    return read


def _amount(needed: bool) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        digits = _SPACES.sub("", text)
        if not digits and not needed:
            return None
        if not is_ascii_digits(digits):
            raise ValueError(
                "must be a whole number of smallest units, in digits alone: no point, comma or symbol"
            )
        if len(digits) > MAX_UINT256_DIGITS or not is_uint256(int(digits)):
            raise ValueError("is more than 2^256-1, the most that a contract can hold")
        return digits

    return read


def _number_text(value: Any) -> str:
    return "" if value is None else str(value)


def _chosen_chain(text: str) -> int:
    if not is_ascii_digits(text) or len(text) > 20:
        raise ValueError("choose a chain")
    return int(text)


def read_end(text: str) -> str | None:
    """A time as the network document writes it, of one as people do: without an offset it is UTC."""
    found = text.strip().removesuffix("UTC").strip()
    if not found:
        return None
    if _DAY.fullmatch(found):
        found += " 00:00:00Z"
    elif _MINUTE.fullmatch(found):
        found += ":00Z"
    return found if _OFFSET.search(found) else f"{found}Z"


def _end_text(value: str | None) -> str:
    return "" if value is None else value.replace("T", " ").removesuffix("Z")


def _tiers(text: str) -> list[dict[str, Any]]:
    found = []
    for number, words in enumerate((line.split() for line in text.splitlines()), 1):
        if not words:
            continue
        if len(words) != 2 or not all(map(is_ascii_digits, words)) or len(words[1]) > 9:
            raise ValueError(
                f"line {number} must be two whole numbers: where the tier begins, a space, and the ppm, "
                "such as 1000000 300"
            )
        found.append({"from": words[0], "ppm": int(words[1])})
    return found


def _tiers_text(value: list[dict[str, Any]]) -> str:
    return "\n".join(f"{tier['from']} {tier['ppm']}" for tier in value)


def _rate(texts: Texts) -> dict[str, Any]:
    if texts["rate_model"] == "fixed":
        return {"model": "fixed", "value": texts["rate_value"].strip()}
    if texts["rate_model"] != "stableswap":
        raise Wrong("rate_model", "choose how the rate is found")
    try:
        return {"model": "stableswap", "amplification": _whole(True)(texts["rate_amplification"])}
    except ValueError as error:
        raise Wrong("rate_amplification", str(error)) from None


def _rate_texts(value: Mapping[str, Any]) -> dict[str, str]:
    return {
        "rate_model": value["model"],
        "rate_value": value.get("value", ""),
        "rate_amplification": _number_text(value.get("amplification")),
    }


def percent_of(text: str) -> str:
    """Parts per million as a percentage, where the text is such."""
    return percent(int(text)) if is_ascii_digits(text) and len(text) < 10 else ""
