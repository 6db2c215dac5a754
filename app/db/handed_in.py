"""What a feature does in the transaction of one that stands below it and does not know it.

Subscribers are told of changes in the transaction that makes them, and stored events are judged again in that
of a change of the network. The feature below names the moment, the one above hands in what it does then, and
``app/features.py`` brings the two together. The connections of an engine carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, Generic, ParamSpec

from sqlalchemy import Connection, Engine

P = ParamSpec("P")


class HandedIn(Generic[P]):
    """One such moment: whoever comes to it calls this, with the transaction and with what has happened."""

    def __init__(self, name: str) -> None:
        self._option = f"gateway_handed_in_{name}"

    def hand_in(self, engine: Engine, act: Callable[Concatenate[Connection, P], None]) -> None:
        """Have this done in the transactions of an engine."""
        engine.update_execution_options(**{self._option: act})

    def __call__(self, connection: Connection, *args: P.args, **kwargs: P.kwargs) -> None:
        """Do what was handed in.

        :raises KeyError: nothing was: the engine was opened without the features.
        """
        connection.get_execution_options()[self._option](connection, *args, **kwargs)
