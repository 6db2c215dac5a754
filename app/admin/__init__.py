"""The operators' console."""

from app.admin.console import open_console

__all__ = ["open_console"]
