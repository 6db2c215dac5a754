"""Changes of right requests: of texts, bytes, documents, queries, paths and headers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

Pairs = list[tuple[str, str]]

TELLING = b"\x00\x01\x02\x7f\x80\x81\xfe\xff=+/A\r\n \t\"'\\{}[],:;%&?#<>0-9"
"""Bytes that mean something to some layer."""

TEXTS = (
    "", " ", "0", "-1", "-0", "+1", "1.0", "1e18", "1e999", "0x10", "0x", "NaN", "Infinity", "null",
    "true", "false",
    "[]", "{}", "9" * 79, "9" * 5000, str(2**32), str(2**63), str(2**64), str(2**256), str(2**256 - 1),
    "\u0661",
    "\u00e9" * 129, "a" * 128, "a" * 129, "\U0001f4a3", "\u202e", "\ufeff", "\u0130", "\u00df", "\x00",
    "a\x00b",
    "\x1b[31m", "%00", "%", "../../etc/passwd", "..\\..", "'; DROP TABLE events; --", "\" OR 1=1",
    "<script>", "{{7*7}}",
    "${jndi:x}", "%s%n", "0x" + "00" * 32, "0x" + "ff" * 32, "0x" + "GG" * 32, "0x" + "00" * 20,
    "2026-13-45T99:99:99Z",
    "0000-00-00", "9999-12-31T23:59:59.999999+23:59", "1970-01-01T00:00:00Z", "a@b", "127.0.0.1", "::1",
    "http://[::1",
    "https://example.org/" + "a" * 3000,
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, 2**256, 10**400, 0.1, -0.0, 1e308,
    float("nan"), float("inf"), [], {}, [None], [[]], {"": ""}, [[[[[[[[]]]]]]]], ["a"] * 501,
    {"a": {"b": {"c": []}}},
)  # fmt: skip

REPEATED = 10_000
"""Characters of what is put into a list several times. Lists in lists would come to gigabytes."""

METHODS = (
    b"GET",
    b"POST",
    b"HEAD",
    b"OPTIONS",
    b"PUT",
    b"PATCH",
    b"DELETE",
    b"TRACE",
    b"PROPFIND",
    b"get",
    b"X",
)

CONTENT_TYPES = (
    b"application/json", b"application/json; charset=utf-16", b"text/plain", b"", b"application/x-ndjson",
    b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=x", b"multipart/form-data",
    b"a", b"/",
    b"application/json; charset=\xff", b"application/grpc-web+proto", b"application/grpc-web-text",
    b"application/grpc",
)  # fmt: skip

HEADERS = (
    b"Accept: */*;q=9", b"Accept-Encoding: gzip, br", b"Accept-Language: " + b"x" * 300,
    b"Authorization: Bearer",
    b"Authorization: Bearer gwk_0", b"Authorization: Basic \xff\xfe", b"Authorization: " + b"b" * 4000,
    b"Content-Encoding: gzip", b"Content-Encoding: br", b"Cookie: console=x", b"Cookie: " + b"a=b; " * 200,
    b"Cookie: console=\xff\xfe; =; ;", b"Expect: 100-continue", b"Expect: 200-ok", b"Forwarded: for=unknown",
    b"If-Modified-Since: yesterday", b"If-None-Match: *", b'If-None-Match: W/"x", "',
    b"If-None-Match: " + b'"a",' * 500,
    b"Last-Event-ID: 9-9-9", b"Last-Event-ID: \xff", b"Origin: null", b"Origin: https://example.org",
    b"Access-Control-Request-Method: POST", b"Range: bytes=0-0,1-1", b"Range: bytes=9-0", b"Referer: \xff",
    b"Sec-Fetch-Site: cross-site", b"Transfer-Encoding: identity", b"Upgrade: h2c",
    b"X-Forwarded-For: 1.2.3.4, ::1, x",
    b"X-Forwarded-Proto: https", b"X-Forwarded-Host: e\xffil", b"X-HTTP-Method-Override: DELETE",
    b"grpc-timeout: 1n",
    b"grpc-timeout: -1S", b"X-Request-Id: " + b"a" * 500, b"X-Request-Id: \x1b[2J", b"X_Under: score",
    b"X: a\tb",
    b"Content-Type: application/json", b"Host: y", b"Content-Language: de",
)  # fmt: skip


def tampered(chance: random.Random, body: bytes) -> bytes:
    """Up to four bytes flipped, added, taken out, doubled or cut off; a third stays as it is."""
    changed = bytearray(body)
    for _ in range(max(0, chance.randrange(-1, 4))):
        at = chance.randrange(len(changed) + 1)
        kind = chance.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at:at] = bytes([chance.choice(TELLING)]) * chance.choice((1, 1, 1, 12))
        elif kind == 2:
            del changed[at : at + chance.randrange(1, 5)]
        elif kind == 3:
            changed[at:at] = changed[at : at + 16]
        elif kind == 4:
            del changed[at:]
        elif at < len(changed):
            changed[at] = chance.choice(TELLING)
    return bytes(changed)


def text(chance: random.Random, right: str) -> str:
    """Another text in place of a right one: odd, or the same with a few characters changed."""
    if chance.random() < 0.5:
        return chance.choice(TEXTS)
    return tampered(chance, right.encode(errors="replace")).decode("latin-1")


def document(chance: random.Random, right: Any) -> Any:
    """A document with something else somewhere in it."""
    if isinstance(right, dict) and right and chance.random() < 0.8:
        return _object(chance, right)
    if isinstance(right, list) and right and chance.random() < 0.8:
        changed = list(right)
        at = chance.randrange(len(changed))
        other, times = document(chance, changed[at]), chance.choice((0, 1, 1, 2, 30))
        changed[at : at + 1] = [other] * (times if len(repr(other)) <= REPEATED else 1)
        return changed
    if isinstance(right, str) and chance.random() < 0.6:
        return text(chance, right)
    return chance.choice(VALUES)


def _object(chance: random.Random, right: dict[str, Any]) -> dict[str, Any]:
    changed = dict(right)
    name = chance.choice(list(changed))
    kind = chance.randrange(8)
    if kind == 0:
        del changed[name]
    elif kind == 1:
        changed[text(chance, name)] = changed[name]
    elif kind == 2:
        changed[text(chance, name)] = changed.pop(name)
    else:
        changed[name] = document(chance, changed[name])
    return changed


def as_json(chance: random.Random, body: Any) -> bytes:
    """A document as text: mostly as it is written everywhere, sometimes oddly, sometimes broken."""
    kind = chance.randrange(12)
    written = json.dumps(body, ensure_ascii=kind != 0)
    if kind == 1:
        written = written.replace(",", ", \n\t", 3)
    if kind == 2 and isinstance(body, dict) and body:
        name = chance.choice(list(body))
        written = written[:-1] + "," + json.dumps({name: chance.choice(VALUES)})[1:]
    encoded = written.encode("utf-8", "surrogatepass")
    if kind == 3:
        return tampered(chance, encoded)
    if kind == 4:
        return chance.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b" " * 5000, b"[" * 3000)) + encoded
    if kind == 5:
        return written.encode("utf-16", "surrogatepass")
    return encoded


def pairs(chance: random.Random, right: Pairs) -> Pairs:
    """The fields of a query or a form with some of them changed, left out, doubled or added."""
    changed = list(right)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        kind, at = chance.randrange(6), chance.randrange(len(changed) + 1)
        if at == len(changed):
            changed.append((text(chance, "name"), text(chance, "value")))
        elif kind == 0:
            del changed[at]
        elif kind == 1:
            changed.append(changed[at])
        elif kind == 2:
            changed[at] = text(chance, changed[at][0]), changed[at][1]
        else:
            changed[at] = changed[at][0], text(chance, changed[at][1])
    return changed


def encoded(chance: random.Random, fields: Pairs) -> bytes:
    """As a query or a form. A few are not percent-encoded as they should be, and are cut or broken."""
    whole = "&".join(f"{quote(name)}={quote(value)}" for name, value in fields).encode()
    if chance.random() < 0.1:
        whole = tampered(chance, whole)
    return whole


def path(chance: random.Random, right: str) -> bytes:
    """A path, mostly the right one."""
    if chance.random() < 0.85:
        return right.encode()
    changes: Sequence[Callable[[], str]] = (
        lambda: right + "/",
        lambda: right.replace("/", "//", 1),
        right.upper,
        lambda: right + "%00",
        lambda: right + "/../" + right,
        lambda: right + ";a=b",
        lambda: "".join(f"%{byte:02x}" for byte in right.encode()),
        lambda: right.replace("/", "%2f"),
        lambda: "http://example.org" + right,
        lambda: right + quote(chance.choice(TEXTS)),
        lambda: right[: chance.randrange(1, len(right) + 1)],
    )
    if chance.random() < 0.2:
        return tampered(chance, right.encode())
    return chance.choice(changes)().encode("utf-8", "surrogatepass")


def one_line(raw: bytes, *, spaces: bool = True) -> bytes:
    """Without what would begin another line of the head, or another part of its first line."""
    cleaned = raw.replace(b"\r", b"").replace(b"\n", b"")
    return cleaned if spaces else cleaned.replace(b" ", b"+").replace(b"\t", b"+")


def more_headers(chance: random.Random) -> list[bytes]:
    """Headers in addition to those of the request; mostly none."""
    if chance.random() < 0.7:
        return []
    found = [chance.choice(HEADERS) for _ in range(chance.choice((1, 1, 2, 4)))]
    if chance.random() < 0.2:
        name, _, value = found[0].partition(b": ")
        found[0] = name + b": " + one_line(tampered(chance, value))
    return found
