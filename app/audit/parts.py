"""Adds the audit log to the application."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flask import Flask

from app.audit.anchors import Anchors
from app.audit.keys import AuditKeys
from app.http.application import add_part


def add(app: Flask, *, key: str, keys_old: tuple[str, ...], key_file: Path, anchors: Iterable[str]) -> None:
    """Add the keys of records, and the places where heads are noted."""
    add_part(app, AuditKeys, AuditKeys(key, keys_old, key_file, Anchors(anchors)))
