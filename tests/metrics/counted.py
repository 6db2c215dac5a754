"""What is counted in files of processes that are made up, and what a reader makes of text for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import values
from prometheus_client.parser import text_string_to_metric_families

from app.observability.metric_files import MetricFiles

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


@contextmanager
def as_process(patch: pytest.MonkeyPatch, files: MetricFiles, pid: int) -> Iterator[None]:
    """Metrics that are made in the block count as this process does."""
    patch.setenv("PROMETHEUS_MULTIPROC_DIR", str(files.directory))
    before = values.ValueClass
    values.ValueClass = values.MultiProcessValue(lambda: pid)
    try:
        yield
    finally:
        values.ValueClass.close_all_files()
        values.ValueClass = before


def series(text: bytes | str) -> Series:
    """The values by name and labels."""
    decoded = text if isinstance(text, str) else text.decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(decoded)
        for sample in family.samples
    }


def value(found: Series, name: str, **labels: str) -> float | None:
    """One of them; None where it is not there."""
    return found.get((name, frozenset(labels.items())))


def total(found: Series, name: str, **labels: str) -> float:
    """The sum of all that have these labels."""
    return sum(number for (each, has), number in found.items() if each == name and has >= set(labels.items()))


def names_in(directory: Path) -> set[str]:
    """The files that hold values."""
    return {file.name for file in directory.glob("*.db")}
