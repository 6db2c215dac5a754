"""Tracing is switched on, where the packages for it are installed."""

from __future__ import annotations

from importlib.util import find_spec

from app.tracing.spans import Tracing, started, use


class MissingPackage(SystemExit):
    """What records traces is not installed. Ends the start with one line on stderr and exit code 1."""


def start(share: float) -> Tracing:
    """Trace this share of the requests of this process, and of those that are forked from it.

    :raises MissingPackage: what records traces is not installed.
    """
    tracing = started()
    if tracing is None:
        if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
            raise MissingPackage("TRACING: needs more packages: scripts/python scripts/venv.py tracing")
        from app.tracing.recorder import OtlpRecorder  # noqa: PLC0415  the packages are an extra

        tracing = Tracing(OtlpRecorder(), share)
        use(tracing)
    return tracing
