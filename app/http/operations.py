"""What an operation of the public interfaces is: its names, what it reads, does and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flask import Response
from marshmallow import Schema
from msgspec import Struct

from app.http.interface import NOTHING_BUT_ERR
from app.http.public import answer
from app.http.requests import read_body, read_query_or_body

LIMITED: Final = (401, 403, 429)
"""Statuses with which every public operation fails, by the key or by the limit of the caller."""

READ: Final = (400, *LIMITED, 405, 413, 500, 503)
"""Statuses with which an operation fails that reads its request from the query."""

Shape = Schema | Callable[[bool], Schema]
"""A schema, or the one for each value of ``COMPAT_CLIENTS``."""


def shape_of(shape: Shape, compat_clients: bool) -> Schema:
    """The schema of an interface with this setting."""
    return shape if isinstance(shape, Schema) else shape(compat_clients)


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
    ``key_needed`` is None where a key does not matter.
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

    @property
    def paths(self) -> tuple[str, ...]:
        """Without their prefix; the first is the documented one."""
        return (self.path or f"/{self.name}", *self.further_paths)

    @property
    def endpoint_name(self) -> str:
        """Its name in logs and metrics."""
        function: Any = self.call or self.view
        return self.endpoint or str(function.__name__)

    def view_for(self, compat_clients: bool) -> Callable[[], Response]:
        """The view: reads the request, executes the operation, and dumps the answer."""
        if self.view is not None:
            return self.view
        call, dump, headers = self.call, self.dump, self.headers
        shape = shape_of(self.answer, compat_clients)
        question, other = self.question(compat_clients), self.bodies[1] if len(self.bodies) > 1 else None
        in_body = bool(self.bodies)
        assert call is not None  # noqa: S101  an operation without a view has one

        def view() -> Response:
            requested = read_body(question, otherwise=other) if in_body else read_query_or_body(question)
            done = call(requested)
            values = done if dump is None else dump(done)
            return answer(shape, values, () if headers is None else headers(done))

        return view

    def question(self, compat_clients: bool) -> Schema:
        """The schema that reads the request."""
        if self.query is None:
            return self.bodies[0]
        return self.reads or shape_of(self.query, compat_clients)
