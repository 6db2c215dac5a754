"""The filters that lists offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from flask import has_request_context
from flask_admin.contrib.sqla.filters import BaseSQLAFilter

from app.admin.network_names import Choices, chain_choices, symbol_choices


class Choice(BaseSQLAFilter):
    """One of a few values. The list ignores any other value, with a message."""

    def __init__(self, column: Any, name: str, options: Sequence[tuple[str, str]]) -> None:
        super().__init__(column, name, options=list(options))

    def validate(self, value: str) -> bool:
        return value in {key for key, _ in self.options}

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        return query.filter(self.get_column(alias) == self.stored(value))

    def stored(self, value: str) -> Any:
        """The choice as the column has it."""
        return value

    def operation(self) -> str:
        return "is"


class Flag(Choice):
    """Yes or no."""

    def __init__(self, column: Any, name: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__(column, name, [("1", yes), ("0", no)])

    def stored(self, value: str) -> bool:
        return value == "1"


class Present(Choice):
    """Whether a column has a value."""

    def __init__(self, column: Any, name: str, yes: str = "yes", no: str = "no") -> None:
        super().__init__(column, name, [("1", yes), ("0", no)])

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        column = self.get_column(alias)
        return query.filter(column.is_not(None) if value == "1" else column.is_(None))


class _FromTheNetwork(Choice):
    """One of the values that are configured when the page is requested."""

    choices: ClassVar[Callable[[], Choices]]

    def __init__(self, column: Any, name: str) -> None:
        super().__init__(column, name, [])

    @property
    def options(self) -> Choices:
        """The choices; empty while the library builds its menus at the start, without a database."""
        return type(self).choices() if has_request_context() else []

    @options.setter
    def options(self, _given: object) -> None:
        """Ignored: the library sets the empty list that it was given."""


class ChainIs(_FromTheNetwork):
    """One of the chains, in any of several columns."""

    choices = staticmethod(chain_choices)

    def __init__(self, column: Any, name: str, *others: Any) -> None:
        super().__init__(column, name)
        self.others = others

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        condition = self.get_column(alias) == int(value)
        for other in self.others:
            condition = condition | (other == int(value))
        return query.filter(condition)


class SymbolIs(_FromTheNetwork):
    """One of the tokens' symbols."""

    choices = staticmethod(symbol_choices)

    def __init__(self, column: Any, name: str = "Token") -> None:
        super().__init__(column, name)
