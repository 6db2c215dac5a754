"""Heads of the audit log, found in the process log: whoever cut the end off the one did not cut the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import orjson

_LOGGER: Final = "app.services.audit.record"
_SAID: Final = r"audit head (\d{1,18}:[0-9a-f]{64}) .*"
_MESSAGE: Final = re.compile(_SAID, re.ASCII)
_LINE: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{{4}} INFO \d+ {re.escape(_LOGGER)}: {_SAID}", re.ASCII
)


def audit_heads(lines: Iterable[str]) -> Iterator[str]:
    """The heads ``ID:MAC`` that were logged for records of the audit log: not what other entries say.

    :param lines: of a log in either format; both may be in one file.
    """
    for line in lines:
        text = line.rstrip("\r\n")
        match = _in_entry(text) if text.startswith("{") else _LINE.fullmatch(text)
        if match:
            yield match[1]


def _in_entry(text: str) -> re.Match[str] | None:
    try:
        entry = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    message = entry.get("message")
    if (entry.get("logger"), entry.get("level")) != (_LOGGER, "INFO") or not isinstance(message, str):
        return None
    return _MESSAGE.fullmatch(message)
