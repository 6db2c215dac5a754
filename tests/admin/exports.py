"""Reading the files that the console exports."""

from __future__ import annotations

import csv
import io
from typing import Any


def rows_of(answer: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answer.text)))
