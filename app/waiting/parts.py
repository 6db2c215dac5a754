"""Adds waiting requests to the application."""

from __future__ import annotations

from flask import Flask

from app.db.database import Database
from app.http.application import add_part
from app.waiting.register import Waiting


def add(app: Flask, database: Database, *, most_waiting: int) -> None:
    add_part(app, Waiting, Waiting(database.public, most_waiting))
