"""What an operation of an operator came to: what was saved, or why it was refused."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.difference import FieldDifference


@dataclass(frozen=True, slots=True)
class Saved:
    """What was done, a sentence a change, and the id of its audit record; None where nothing changed.

    With ``proposal_id`` it was not done but proposed: it waits for a second operator. ``brief`` says it in a
    few words, for a message; where it is empty, ``changes`` are short enough.
    """

    changes: tuple[str, ...]
    record_id: int | None
    proposal_id: int | None = None
    brief: str = ""


class EditRefused(Exception):
    """Why an edit is refused, in words for the operator. Nothing has changed."""


class Conflict(EditRefused):
    """The row was changed after it was shown. ``meanwhile`` is how it differs now from what was shown."""

    def __init__(self, message: str, meanwhile: tuple[FieldDifference, ...]) -> None:
        super().__init__(message)
        self.meanwhile = meanwhile
