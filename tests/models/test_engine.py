"""The one writer, whatever the database's own defaults are."""

from __future__ import annotations

import threading

from sqlalchemy import create_engine, func, select
from sqlalchemy.engine import make_url

from app.models.connections.patience import CONSOLE
from app.models.engine import prepare, writing
from app.models.events import ChainProgress
from tests.services.feed.world import NOW


def test_who_waited_for_the_writer_sees_what_it_wrote(database_url: str) -> None:
    """Also where transactions see the database as of their first statement, which is the waiting."""
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c default_transaction_isolation=serializable"})
    engine = create_engine(url)
    prepare(engine, CONSOLE)
    waiting, seen = threading.Event(), []

    def wait_and_count() -> None:
        waiting.set()
        with writing(engine) as connection:
            seen.append(connection.scalar(select(func.count()).select_from(ChainProgress)))

    waiter = threading.Thread(target=wait_and_count)
    with writing(engine) as connection:
        waiter.start()
        waiting.wait()
        waiter.join(0.3)
        connection.execute(ChainProgress.__table__.insert().values(chain_id=1, newest_at=NOW))
    waiter.join()
    engine.dispose()
    assert seen == [1]
