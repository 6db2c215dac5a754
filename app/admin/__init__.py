"""The operators' console."""

from app.admin.console import open_console
from app.admin.same_answers import SameAnswers

__all__ = ["SameAnswers", "open_console"]
