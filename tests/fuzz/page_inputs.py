"""Inputs for the interfaces of people: the documentation, the pages of transfers, the console."""

from __future__ import annotations

import random
import re
from urllib.parse import parse_qsl

from tests.fuzz.input import Corpus, Input, http_request
from tests.fuzz.mutation import METHODS, TEXTS, Pairs, encoded, more_headers, one_line, pairs, path, tampered

STRANGERS = "127.0.2.1"
"""Failed sign-ins are counted by address: the signed-in operator has another one."""

LANGUAGES = (
    b"Accept-Language: de",
    b"Accept-Language: en;q=0",
    b"Accept: text/html",
    b"Accept: application/json",
)


def public_input(chance: random.Random, corpus: Corpus) -> Input:
    """A page, a file or a picture for everybody."""
    where = chance.choice(corpus.public)
    if where.startswith("/transfer/") and chance.random() < 0.7:
        where = "/transfer/" + chance.choice((*corpus.ids, *corpus.accounts, *TEXTS))
    where, _, query = where.partition("?")
    target = path(chance, where)
    fields = parse_qsl(query) or ([("q", "0x")] if chance.random() < 0.3 else [])
    if fields:
        target += b"?" + encoded(chance, pairs(chance, fields))
    headers = [chance.choice(LANGUAGES), *more_headers(chance)]
    kind = chance.random()
    if kind < 0.1:
        body = encoded(chance, pairs(chance, [("confirm", "1"), ("csrf_token", "x")]))
        headers.append(b"Content-Type: application/x-www-form-urlencoded")
        return Input("pages", http_request(b"POST", one_line(target, spaces=False), headers, body))
    method = b"GET" if kind < 0.95 else chance.choice(METHODS)
    return Input("pages", http_request(method, one_line(target, spaces=False), headers))


def stranger_input(chance: random.Random, corpus: Corpus) -> Input:
    """The console without a session, or with a cookie that nobody was given."""
    cookie = chance.choice((b"", b"", b"console=", b"console=eyJhIjoxfQ.aaaa.bbbb", b"console=\xff.\xfe."))
    return _console(chance, corpus, cookie, "", STRANGERS, "stranger")


def operator_input(chance: random.Random, corpus: Corpus, cookie: bytes, token: str) -> Input:
    """The console with a session."""
    return _console(chance, corpus, cookie, token, "127.0.0.1", "operator")


def _console(
    chance: random.Random, corpus: Corpus, cookie: bytes, token: str, source: str, interface: str
) -> Input:
    headers = [b"Cookie: " + one_line(cookie)] if cookie else []
    headers += more_headers(chance)
    if chance.random() < 0.5:
        where, fields = chance.choice(corpus.forms)
        if interface == "operator" and "sign-out" in where:
            where = "/admin/"
        changed = pairs(chance, fields)
        if chance.random() < 0.9:
            changed = _with_token(changed, token)
        return Input(interface, _form(chance, _path(chance, corpus, where), changed, headers), source)
    where, _, query = chance.choice(corpus.pages).partition("?")
    target = _path(chance, corpus, where)
    fields = parse_qsl(query, keep_blank_values=True)
    if fields or chance.random() < 0.3:
        fields = fields or [(chance.choice(_ARGUMENTS), chance.choice(TEXTS))]
        target += b"?" + encoded(chance, pairs(chance, fields))
    method = b"GET" if chance.random() < 0.95 else chance.choice(METHODS)
    return Input(interface, http_request(method, one_line(target, spaces=False), headers), source)


_ARGUMENTS = (
    "page", "sort", "desc", "search", "q", "before", "after", "flt0_0", "page_size", "next", "subject", "at",
    "since",
    "until", "status", "cursor", "state", "kind", "chain", "id", "edit_modal",
)  # fmt: skip


def _path(chance: random.Random, corpus: Corpus, where: str) -> bytes:
    """A path of the console, with other ids in it now and then."""
    if chance.random() < 0.3:
        other = chance.choice(("0", "1", "2", "56", "-1", "99999999999999999999", "x", *corpus.ids[:5]))
        where = re.sub(r"/(\d+|0x[0-9a-f]{64})(?=/|$)", f"/{other}", where)
    return path(chance, where)


def _with_token(fields: Pairs, token: str) -> Pairs:
    return [each for each in fields if each[0] != "csrf_token"] + [("csrf_token", token)]


def _form(chance: random.Random, target: bytes, fields: Pairs, headers: list[bytes]) -> bytes:
    """As browsers send forms, of both kinds; files, too."""
    where = one_line(target, spaces=False)
    if chance.random() < 0.8:
        kind = b"Content-Type: application/x-www-form-urlencoded"
        return http_request(b"POST", where, [*headers, kind], encoded(chance, fields))
    parts = []
    for name, value in fields:
        file = b'; filename="a"\r\nContent-Type: text/plain' if chance.random() < 0.1 else b""
        raw = name.encode("utf-8", "replace"), value.encode("utf-8", "replace")
        parts.append(
            b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n' % (raw[0], file, raw[1])
        )
    body = b"".join(parts) + b"--x--\r\n"
    if chance.random() < 0.2:
        body = tampered(chance, body)
    return http_request(b"POST", where, [*headers, b"Content-Type: multipart/form-data; boundary=x"], body)
