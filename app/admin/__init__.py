"""The operators' console."""

from app.admin.console import open_console
from app.admin.public_answers import PublicAnswers

__all__ = ["PublicAnswers", "open_console"]
