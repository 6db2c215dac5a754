"""An estimate that is refused, and how many such a gateway has counted."""

from __future__ import annotations

from sqlalchemy import create_engine, text

ESTIMATE = "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1&slippage_tolerance=3000"


def rows(url: str) -> list[tuple[int, str, int]]:
    """Code, reason and number of those in the database."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT code, reason, sum(count) FROM estimate_counts GROUP BY code, reason")
        )
        summed = [(code, reason, int(count)) for code, reason, count in found]
    engine.dispose()
    return summed
