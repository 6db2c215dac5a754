"""Adds the operators' accounts to the application."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.http.application import add_part


def add(app: Flask, *, two_persons: Iterable[str]) -> None:
    """Add which changes need a second person."""
    add_part(app, TwoPersons, TwoPersons(frozenset(two_persons)))
