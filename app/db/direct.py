"""Selects of the answering path, run by the driver's own cursor: a third of what Core's execution costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from sqlalchemy import Connection, Dialect, Select

Row = TypeVar("Row")
Processor = Callable[[Any], Any]


class _Ready(Struct, frozen=True):
    """A select in the form for one kind of database: text, parameters, and conversions of columns."""

    sql: str
    constants: Mapping[str, Any]
    binders: tuple[tuple[str, Processor], ...]
    order: tuple[str, ...] | None
    """Names in the order of ``?`` marks; None where parameters go by name."""
    results: tuple[tuple[int, Processor], ...]

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """The values in the form of the driver."""
        ready = {**self.constants, **values}
        for name, bind in self.binders:
            ready[name] = bind(ready[name])
        return ready if self.order is None else [ready[name] for name in self.order]


FAILED: Final = "gateway_failed"
"""Execution option with the driver's error of a statement, which Core raises as its own."""


def _has_failed(connection: Connection) -> bool:
    """Whether PostgreSQL takes no further statement in this transaction."""
    if connection.dialect.name != "postgresql":
        return False
    driver: Any = connection.connection.driver_connection
    return bool(driver.info.transaction_status.name == "INERROR")


class DirectSelect(Generic[Row]):
    """A Core select that is compiled once for each kind of database (docs/performance.md#hot-path).

    Column types, listeners to statements, and errors are the same as with Core.
    """

    def __init__(self, statement: Select[*tuple[Any, ...]], make: Callable[..., Row]) -> None:
        """
        :param statement: with named parameters; none that expands (``IN``).
        :param make: a row from the columns' values, in their order.
        """
        self._statement = statement
        self._make = make
        self._ready: dict[str, _Ready] = {}

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Row | None:
        """The first row, None where there is none."""
        rows = self.all(connection, values)
        return rows[0] if rows else None

    def all(self, connection: Connection, values: Mapping[str, Any]) -> list[Row]:
        """Every row."""
        dialect = connection.dialect
        ready = self._ready.get(dialect.name)
        if ready is None or connection.engine.dispatch.after_cursor_execute:
            return self._by_core(connection, values)  # listeners need what Core knows of each statement
        sql, parameters = ready.sql, ready.parameters(values)
        # Stored with the driver's connection: a cursor of psycopg is faster with the same text.
        cursors = connection.info
        cursor = cursors.get(self)
        if cursor is None:
            cursor = cursors[self] = connection.connection.cursor()
        try:
            for listener in connection.engine.dispatch.before_cursor_execute:
                sql, parameters = listener(connection, cursor, sql, parameters, None, False)
            cursor.execute(sql, parameters)
            found = cursor.fetchall()
        except dialect.loaded_dbapi.Error as error:
            # Core runs it again: it knows which errors mean a lost connection, and gives all of them its
            # types. A transaction that failed would only repeat that it has failed.
            del cursors[self]
            cursor.close()
            if _has_failed(connection):
                connection.exec_driver_sql(sql, execution_options={FAILED: error})
            return self._by_core(connection, values)
        return [self._made(ready, row) for row in found]

    def _made(self, ready: _Ready, row: Any) -> Row:
        values = list(row)
        for index, convert in ready.results:
            values[index] = convert(values[index])
        return self._make(*values)

    def _by_core(self, connection: Connection, values: Mapping[str, Any]) -> list[Row]:
        result = connection.execute(self._statement, dict(values))
        cursor = result.cursor
        if cursor is not None and cursor.description is not None:
            kinds = [column[1] for column in cursor.description]
            self._ready[connection.dialect.name] = _prepared(self._statement, connection.dialect, kinds)
        return [self._make(*row) for row in result]


def _prepared(statement: Select[*tuple[Any, ...]], dialect: Dialect, kinds: list[Any]) -> _Ready:
    """
    :param kinds: the driver's types of the columns, which some conversions depend on.
    """
    compiled = statement.compile(dialect=dialect)
    order = compiled.positiontup if compiled.positional else None
    binds = {
        name: bind.type.dialect_impl(dialect).bind_processor(dialect) for name, bind in compiled.binds.items()
    }
    columns = [column.type.dialect_impl(dialect) for column in statement.selected_columns]
    converters = [column.result_processor(dialect, kind) for column, kind in zip(columns, kinds, strict=True)]
    return _Ready(
        sql=compiled.string,
        constants={name: bind.value for name, bind in compiled.binds.items() if not bind.required},
        binders=tuple((name, bind) for name, bind in binds.items() if bind),
        order=None if order is None else tuple(order),
        results=tuple((index, convert) for index, convert in enumerate(converters) if convert),
    )
