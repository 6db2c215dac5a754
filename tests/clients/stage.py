"""Two local chains with the contracts, a gateway and its watcher as processes, and everybody but the user."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from app import create_app
from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.http.application import part_of
from app.network.document import import_within, read_rows
from app.values.codes import SendKind, TransferHistoryStatus
from app.values.crypto import address_of
from demo.actors import OF_THE_USER, Gateway, Life
from demo.anvil import Anvil
from demo.chains import DELAYED_OVER, LEFT, OLD, PEG, PLENTY, RIGHT, TRI, USERS, prepare
from demo.network import RPC_NAMES, document
from demo.transfers import Send
from demo.wallet import wallet
from tests.applications import make_settings
from tests.clients.network import VALIDATORS
from tests.serving.server import UNLIMITED, serving
from tests.watcher.processes import watching

TOKEN = "a reporter of the clients' tests"
KEY = "0x" + "5e" * 32
PAYER = address_of(bytes.fromhex(KEY[2:]))
"""Who pays for somebody else's refund, with a key that a client signs with."""

SECONDS = 300
"""The chains mine faster than a block a second: blocks are ahead of the clock, and count at their time."""
TO_BE_REFUNDED = TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED
OTHERS, LATE = "pool, by somebody else", "pool, delayed"
_NUMBERS = count(1)


@dataclass(frozen=True)
class Stage:
    """What the clients talk to."""

    base: str
    nodes: dict[int, Anvil]
    wallets: dict[int, str]
    """The addresses that a user's wallet asks, by chain."""

    def balance(self, send: Send) -> int:
        """What the sender of a transfer has of its token."""
        call = send.token.call(send.sender, "balanceOf", send.sender)
        asked = {"to": send.token.text, "data": f"0x{call.data.hex()}"}
        return int(self.nodes[send.chain].rpc("eth_call", asked, "latest"), 16)

    def sender(self, chain: int, tx_hash: str) -> str:
        """Who sent a transaction."""
        who: str = self.nodes[chain].rpc("eth_getTransactionByHash", tx_hash)["from"]
        return who

    def transactions(self, chain: int, sender: bytes) -> int:
        """How many an account has sent."""
        return int(self.nodes[chain].rpc("eth_getTransactionCount", f"0x{sender.hex()}", "pending"), 16)

    def receipt(self, chain: int, tx_hash: str) -> Mapping[str, Any]:
        """What became of a transaction, once it is in a block."""
        deadline = time.monotonic() + SECONDS
        while (found := self.nodes[chain].receipt(tx_hash)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return found

    def begun(self, planned: dict[str, Send]) -> list[Life]:
        """The transfers as soon as they are to be refunded; asking and claiming is the client's."""
        hub = Gateway(self.base, TOKEN)
        lives = [
            Life(name, send, hub, self.nodes, VALIDATORS, print, refunded=True, done=set(OF_THE_USER))
            for name, send in planned.items()
        ]
        for life in lives:
            life.begin()
        play(lives, lambda: all(life.status >= TO_BE_REFUNDED for life in lives))
        return lives


def play(lives: list[Life], until: Callable[[], bool]) -> None:
    """Let everybody but the user act."""
    deadline = time.monotonic() + SECONDS
    while not until():
        assert time.monotonic() < deadline, [(life.name, life.status) for life in lives]
        for life in lives:
            life.step()
        time.sleep(0.3)


def sends() -> dict[str, Send]:
    """A transfer of each kind and version that will be refunded; each has a user of its own."""
    pool, deposit, burn = SendKind
    users = iter(USERS)

    def send(kind: SendKind, chain: int, amount: int = 2_000_000, **more: Any) -> Send:
        user = next(users)
        return Send(kind, chain, LEFT + RIGHT - chain, amount, next(_NUMBERS), user, user, **more)

    return {
        "pool": send(pool, LEFT),
        OTHERS: send(pool, RIGHT),
        LATE: send(pool, LEFT, 2 * DELAYED_OVER[LEFT]),
        "deposit": send(deposit, LEFT, token=PEG),
        "deposit 1": send(deposit, LEFT, token=OLD, version=1),
        "burn": send(burn, RIGHT, token=PEG),
        "burn 1": send(burn, RIGHT, token=OLD, version=1),
        "burn towards a third chain": send(burn, RIGHT, token=TRI),
    }


@contextmanager
def running(folder: Path, template: Path) -> Iterator[Stage]:
    """The processes, ended with the block; the folder has the database and the logs."""
    file = folder / "gateway.db"
    file.write_bytes(template.read_bytes())
    url = f"sqlite:///{file}"
    with ExitStack() as stack:
        nodes = {chain: stack.enter_context(Anvil(chain, block_seconds=1)) for chain in (LEFT, RIGHT)}
        for each in nodes.values():
            prepare(each, VALIDATORS)
            each.give(PAYER, 10**20)
        watched = {"watch_from_block": 0, "finality": 4, "poll_seconds": 0.5}
        app = create_app(make_settings(url))
        with app.app_context():
            with writing(part_of(app, Database).engine) as connection:
                network = document(VALIDATORS, block_delays=(1, 2), liquidity=PLENTY, **watched)
                import_within(connection, read_rows(network), part_of(app, Database).clock())
            db.engine.dispose()
        settings = {"DATABASE_URL": url, "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": "1"}
        # All the users are one caller here.
        server = stack.enter_context(serving(UNLIMITED, folder / "log", **settings))
        urls = {RPC_NAMES[chain]: each.url for chain, each in nodes.items()}
        stack.enter_context(watching(url, folder / "watcher", urls))
        wallets = {chain: stack.enter_context(wallet(each.url)) for chain, each in nodes.items()}
        yield Stage(server.base, nodes, wallets)
