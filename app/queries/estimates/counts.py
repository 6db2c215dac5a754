"""How did the estimates that were asked for end?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from app.models.estimates import EstimateCount


def estimate_counts(connection: Connection, first_minute: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """How many estimates (``asked``) ended with each code and reason, by minute, from a minute on.

    :param first_minute: Unix time // 60.
    """
    counts = select(
        EstimateCount.minute, EstimateCount.code, EstimateCount.reason, EstimateCount.count.label("asked")
    )
    return connection.execute(
        counts.where(EstimateCount.minute >= first_minute).order_by(EstimateCount.minute)
    ).all()
