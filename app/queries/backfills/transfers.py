"""Which transfers were written by code that did not know all of their columns?"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from app.models.transfers import Transfer


def next_transfers(connection: Connection, after: bytes, rows: int) -> Sequence[tuple[bytes, bool]]:
    """The transfers after an id, in the order of ids, each with whether it is listed nowhere.

    Those are without the time since which they are listed, although their chains are known.
    """
    unlisted = Transfer.began_at.is_(None) & Transfer.src_chain_id.is_not(None)
    wanted = select(Transfer.transfer_id, unlisted).order_by(Transfer.transfer_id).limit(rows)
    found = connection.execute(wanted.where(Transfer.transfer_id > after) if after else wanted)
    return [(transfer_id, bool(missing)) for transfer_id, missing in found]
