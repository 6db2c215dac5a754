"""What an operation of the public interfaces is, and how its request is read: strictly, after the rules of
origins and sizes of bodies.

The query is split here and not by Werkzeug or webargs: these replace broken bytes, and then cannot
distinguish ``%FF`` from the text ``%FF``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from functools import cache, partial
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from flask import Response, request
from marshmallow import Schema, ValidationError, fields
from msgspec import Struct
from werkzeug.exceptions import RequestEntityTooLarge, UnsupportedMediaType

from app import json_documents
from app.http import public
from app.http.application import current, has_small_body
from app.http.headers import note_ignored
from app.http.public import MAX_QUESTION_BYTES, NOTHING_BUT_ERR, PublicInterface, answer, preflight
from app.values.errors import BadRequest, UnsupportedFormat
from app.values.ip_addresses import IPAddress


def apply_request_policy() -> Response | None:
    """Before every public operation: answer a preflight, refuse a body that is too large."""
    environ = request.environ
    if environ["REQUEST_METHOD"] == "OPTIONS":
        return preflight(204)
    declares_body = environ.get("CONTENT_LENGTH") or "HTTP_TRANSFER_ENCODING" in environ
    if declares_body and not has_small_body(environ):
        _bound_body()
    return None


def _bound_body() -> None:
    """Refuse a body over the limit. One of undeclared length (chunked) is read here to measure it."""
    length = request.content_length
    if length is None:
        length = len(request.get_data())
    if length > MAX_QUESTION_BYTES:
        raise RequestEntityTooLarge


def caller() -> IPAddress | None:
    """The caller's address as ``TRUSTED_PROXIES`` defines it (docs/interface/callers.md#caller)."""
    return public.caller(current(PublicInterface).trusted_proxies)


_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_PLAIN_NAME: Final = re.compile(r"[\w.\[\]-]{1,64}", re.ASCII)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def read_query(schema: Schema, *, refuses_unknown: bool = False) -> dict[str, Any]:
    """The parameters of the query string, each as the schema's field reads it. The answer names the unknown
    ones.

    :param refuses_unknown: unknown ones are refused instead.
    :raises BadRequest: naming every parameter that is missing, of the wrong form or refused.
    """
    return _read_encoded(schema, request.environ.get("QUERY_STRING", ""), [], refuses_unknown)


def read_query_or_body(schema: Schema, *, refuses_unknown: bool = False) -> dict[str, Any]:
    """The same fields, each as the schema's field reads it: from the query of a GET, from the body of a POST.

    The body is a JSON object, or a form, which has the format of a query. All of a POST's query is unknown.

    :raises BadRequest: naming every field that is missing, of the wrong form or refused.
    :raises UnsupportedFormat: the body does not declare one of the two types.
    """
    if request.method != "POST":
        return read_query(schema, refuses_unknown=refuses_unknown)
    if request.mimetype == _FORM:
        form = request.get_data().decode("latin-1")
        return _read_encoded(schema, form, query_names(), refuses_unknown)
    try:
        return read_body(schema, refuses_unknown=refuses_unknown)
    except UnsupportedMediaType:
        raise UnsupportedFormat(f"send the body with Content-Type: {_JSON} or {_FORM}") from None


def read_body(
    schema: Schema, *, otherwise: Schema | None = None, refuses_unknown: bool = False
) -> dict[str, Any]:
    """The members of the JSON object in the body, each as the schema's field reads it.

    As in a query, an empty member counts as left out, as does null. All of the query is unknown. With
    ``COMPAT_CLIENTS`` every body that is not a form counts as JSON.

    :param otherwise: reads a body that has members of this schema and none of the first.
    :param refuses_unknown: unknown members are refused, and not only named in the answer.
    :raises BadRequest: the body is not one JSON object, or not of the schema's form.
    :raises UnsupportedMediaType: it does not declare JSON.
    """
    in_query = query_names()
    if not refuses_unknown:
        note_ignored(in_query)  # also where the body cannot be read: the client sent all in the query
    declared = request.environ.get("CONTENT_TYPE")
    if declared != _JSON and not current(PublicInterface).compat_clients and request.mimetype != _JSON:
        raise UnsupportedMediaType
    try:
        document = json_documents.loads(request.get_data(), nul_allowed=True)
    except ValueError as error:
        raise BadRequest(f"body: {error}") from None
    if not isinstance(document, dict):
        raise BadRequest("body: must be a JSON object")
    members = {name: value for name, value in document.items() if value not in (None, "")}
    if otherwise is not None and members.keys().isdisjoint(schema.load_fields):
        schema = schema if members.keys().isdisjoint(otherwise.load_fields) else otherwise
    known, _ = _names(schema)
    unknown = [*in_query, *(name for name in members if name not in known)]
    return _load(schema, members, unknown, refuses_unknown)


def query_names() -> list[str]:
    """The names of all parameters of the query that are not empty."""
    query, names = request.environ.get("QUERY_STRING"), list[str]()
    if query:
        query_values(query, (), unknown=names)
    return names


def _read_encoded(schema: Schema, encoded: str, unknown: list[str], refuses_unknown: bool) -> dict[str, Any]:
    """The fields of a query or a form, as :func:`query_values` takes it; a list may be there repeatedly.

    :param unknown: names that are unknown apart from it.
    """
    return _load(schema, query_values(encoded, *_names(schema), unknown), unknown, refuses_unknown)


@cache
def _names(schema: Schema) -> tuple[frozenset[str], frozenset[str]]:
    """The names of a schema's fields, and those of its lists."""
    names = {field.data_key or name: field for name, field in schema.load_fields.items()}
    return frozenset(names), frozenset(n for n, field in names.items() if isinstance(field, fields.List))


def query_values(
    query: str, known: Container[str], lists: Container[str] = (), unknown: list[str] | None = None
) -> dict[str, Any]:
    """Name and decoded value of every known parameter that is not empty.

    Values of unknown parameters are not decoded. An empty value counts as left out.

    :param query: from WSGI: percent-encoded, other bytes as Latin-1.
    :param lists: names that may occur more than once; their value is the list of what was sent.
    :param unknown: gets the names of the others that are not empty.
    :raises BadRequest: another parameter occurs twice, or one is not UTF-8.
    """
    values: dict[str, Any] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name not in known:
            name = _decoded(name) or name
            if name not in known:
                if unknown is not None and name and value:
                    unknown.append(name)
                continue
        if name in values and name not in lists:
            raise BadRequest(f"{name}: must be given once")
        text = _decoded(value)
        if text is None:
            raise BadRequest(f"{name}: is not percent-encoded UTF-8")
        values[name] = [*values.get(name, ()), *filter(None, [text])] if name in lists else text
    return {name: value for name, value in values.items() if value}


def _decoded(text: str) -> str | None:
    """The percent-decoded text; None where it is not valid UTF-8 or not validly encoded."""
    if text.isascii() and "%" not in text:
        return text.replace("+", " ")
    if _BROKEN_ESCAPE.search(text):
        return None
    try:
        return unquote_to_bytes(text.replace("+", " ").encode("latin-1")).decode()
    except UnicodeError:
        return None


def _load(
    schema: Schema, values: dict[str, Any], unknown: list[str], refuses_unknown: bool
) -> dict[str, Any]:
    loaded, faults = values_and_faults(schema, values)
    if unknown and refuses_unknown:
        known = ", ".join(sorted(_names(schema)[0]))
        faults |= {_shown(name): f"is not a parameter here, which are {known}" for name in unknown}
    elif unknown:
        note_ignored(unknown)
    if faults:
        raise BadRequest.naming(faults)
    return loaded


def _shown(name: str) -> str:
    """An unknown name in a message, where it is safe to repeat."""
    return name if _PLAIN_NAME.fullmatch(name) else "a parameter"


def values_and_faults(schema: Schema, values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values as the schema's fields read them; or the fault of each malformed one, by its name."""
    try:
        return schema.load(values), {}
    except ValidationError as error:
        return {}, {name: ", ".join(_texts(found)) for name, found in error.messages_dict.items()}


def _texts(found: Any) -> Iterator[str]:
    """The faults of a field; those of a list's members with the position of each, counted from 1."""
    if isinstance(found, dict):
        for place, texts in found.items():
            yield f"number {place + 1} {', '.join(_texts(texts))}"
    else:
        yield from found


LIMITED: Final = (401, 403, 429)
"""Statuses with which every public operation fails, by the key or by the limit of the caller."""

READ: Final = (400, *LIMITED, 405, 413, 500, 503)
"""Statuses with which an operation fails that reads its request from the query."""

SANDBOX: Final = "sandbox"
"""The group of operations that only a gateway of made-up transfers may serve."""

Shape = Schema | Callable[[bool], Schema]
"""A schema, or the one for each value of ``COMPAT_CLIENTS``."""


def shape_of(shape: Shape, compat_clients: bool) -> Schema:
    """The schema of an interface with this setting."""
    return shape if isinstance(shape, Schema) else shape(compat_clients)


def _view_without_parameters(view: Callable[[], Response]) -> Response:
    note_ignored(query_names())
    return view()


class Operation(Struct, frozen=True, kw_only=True):
    """One operation.

    ``name`` is that of the path, of the OpenAPI document and, with a capital, of the method of gRPC-Web.
    ``call`` executes it with the request, for both interfaces; ``dump`` and ``headers`` make the answer over
    HTTP of its result. ``view`` serves it over HTTP instead where that is not enough. ``group`` is its
    blueprint, empty for the main one; those of ``grpcweb`` have no route. ``endpoint`` is its name in logs
    and metrics, where that is not the name of the function.

    ``query`` and ``bodies`` are what clients send; ``reads`` reads further spellings of the query. A ``form``
    has the fields of the query in its body. ``parameters`` are the names and descriptions of headers that are
    read, ``answer_headers`` the names of those of a successful answer. ``failures`` are HTTP statuses.
    ``examples_of`` is the operation whose recorded answers are shown, where they are not its own.
    ``key_needed`` is None where a key does not matter. An operation ``refuses_unknown`` parameters, where
    older ones name them in ``X-Gateway-Ignored`` (docs/interface/answers.md#ignored).
    """

    name: str
    call: Callable[[dict[str, Any]], Any] | None = None
    dump: Callable[[Any], Any] | None = None
    headers: Callable[[Any], list[tuple[str, str]]] | None = None
    view: Callable[[], Response] | None = None
    group: str = ""
    endpoint: str = ""
    method: str = "GET"
    path: str = ""
    further_paths: tuple[str, ...] = ()
    query: Shape | None = None
    reads: Schema | None = None
    bodies: tuple[Schema, ...] = ()
    form: bool = False
    answer: Shape = NOTHING_BUT_ERR
    tag: str = "Transfers"
    summary: str = ""
    description: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    answer_headers: tuple[str, ...] = ()
    failures: tuple[int, ...] = READ
    examples_of: str = ""
    key_needed: bool | None = False
    streams: bool = False
    refuses_unknown: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Without their prefix; the first is the documented one."""
        return (self.path or f"/{self.name}", *self.further_paths)

    @property
    def endpoint_name(self) -> str:
        function: Any = self.call or self.view
        return self.endpoint or str(function.__name__)

    def view_for(self, compat_clients: bool) -> Callable[[], Response]:
        if self.view is not None:
            return self.view if self.query or self.bodies else partial(_view_without_parameters, self.view)
        call, dump, headers = self.call, self.dump, self.headers
        shape = shape_of(self.answer, compat_clients)
        question, other = self.question(compat_clients), self.bodies[1] if len(self.bodies) > 1 else None
        in_body, refuses = bool(self.bodies), self.refuses_unknown
        assert call is not None  # noqa: S101  an operation without a view has one

        def view() -> Response:
            requested = (
                read_body(question, otherwise=other, refuses_unknown=refuses)
                if in_body
                else read_query_or_body(question, refuses_unknown=refuses)
            )
            done = call(requested)
            values = done if dump is None else dump(done)
            return answer(shape, values, () if headers is None else headers(done))

        return view

    def question(self, compat_clients: bool) -> Schema:
        if self.query is None:
            return self.bodies[0]
        return self.reads or shape_of(self.query, compat_clients)
