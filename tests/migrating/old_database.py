"""A database as it was at revision 0009, filled by SQL."""

from __future__ import annotations

from typing import Final

import psycopg

_ID: Final = "sha256(n::text::bytea)"

_FILL: Final = (
    # Indexes and what hangs on transfers are there while they are filled: slower, and nothing to put back.
    f"""INSERT INTO transfers (transfer_id, status, refund_reason, status_since, kind, src_chain_id,
            dst_chain_id, symbol, amount, sender, receiver, src_tx_hash, dst_tx_hash, sent_at, released_at,
            relayed_amount, updated_at)
        SELECT {_ID}, 5, 0, at, 'pool', 1, 56, 'USDC', 1000000 + n,
            '0xaa' || lpad((n %% 100000)::text, 38, '0'),
            '0xbb' || lpad((n %% 90000)::text, 38, '0'), '0x' || n, '0x' || n, at, at, 999000 + n, at
        FROM (SELECT n, now() - make_interval(secs => n %% 604800) AS at
            FROM generate_series(1, %(rows)s::bigint) n) AS numbers""",
    f"""INSERT INTO events (seq, event_id, occurrence, type, at, received_at, reporter, transfer_id, chain_id,
            block, body)
        SELECT n, '1:' || n, 0, CASE WHEN n %% 1000 = 0 THEN 'refund.signed' ELSE 'transfer.sent' END, at, at,
            'bench', {_ID}, 1, n, '{{"at":"2026-01-01T00:00:00Z","amount":"1000000"}}'
        FROM (SELECT n, now() - make_interval(secs => n %% 604800) AS at
            FROM generate_series(1, %(rows)s::bigint) n) AS numbers""",
    f"""INSERT INTO latency_records (transfer_id, src_chain_id, dst_chain_id, released_at, latency_us)
        SELECT {_ID}, 1, 56, now(), 1000000 FROM generate_series(1, %(rows)s::bigint) n
        WHERE n %% 10 = 0""",
)


def fill(conninfo: str, rows: int) -> None:
    """So many transfers, and an event of each."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in _FILL:
            connection.execute(statement, {"rows": rows})
        connection.execute("VACUUM (ANALYZE)")
