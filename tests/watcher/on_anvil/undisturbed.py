"""What a watcher comes to that nobody disturbs."""

from __future__ import annotations

from flask import Flask
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.estimates.models import PoolCounter
from app.http.application import part_of
from app.transfers.models import Event
from demo.network import RPC_NAMES
from tests.watcher.on_anvil.disturbing import undisturbed
from tests.watcher.on_anvil.plan import Plan
from tests.watcher.on_anvil.stage import Answers, Chains, answers
from tests.watcher.on_anvil.watching import Watching


def everything(app: Flask, plan: Plan) -> Answers:
    """The answers, and the pools' counters, in which something that counts twice would show."""
    with reading(part_of(app, Database).engine) as connection:
        rows = connection.execute(select(PoolCounter.__table__)).mappings()
        pools = {f"{row['chain_id']} {row['symbol']}": {k: str(v) for k, v in row.items()} for row in rows}
    # Who has signed a refund that is done is told as of the newest fact about it, so later ones of the
    # validators change it or not, by their order.
    said = answers(app, plan.sends)
    open_ones = {name: each for name, each in said.items() if "Evidence" not in name or each["status"] != 10}
    return open_ones | {"pools": pools}


def reorganisations(database: Database) -> int:
    with reading(database.engine) as connection:
        of_type = select(func.count()).select_from(Event).where(Event.type == "chain.reorged")
        return connection.scalar(of_type) or 0


def quiet_run(app: Flask, chains: Chains, plan: Plan) -> Answers:
    urls = {chain: [(RPC_NAMES[chain], node.url)] for chain, node in chains.nodes.items()}
    with app.app_context():
        watching = Watching(app, urls)
        watching.start()
        undisturbed(app, chains, watching, plan, 1_000)
        watching.stop()
        return everything(app, plan)
