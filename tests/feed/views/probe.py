"""The probe of tests/serving, with a shorter timeout for reporters that send nothing more."""

from app.feed import views
from tests.serving.probe import app

__all__ = ["app"]

views.SILENCE_SECONDS = 1  # type: ignore[misc]
