"""``make demo``: two chains, contracts, the gateway and its watcher on this machine, and transfers.

HOST and PORT are those of the gateway, as for ``make run``. Needs no network but the npm registry, once. Ends
with Ctrl-C, and all that it started with it; ``--once`` ends when every transfer has.
Who reads docs/tutorial.md has an account on the chains, and sends transfers, too. With ``--claim`` the
demonstration's own users leave their refunds to whoever reads docs/refund-guide.md.
"""

from __future__ import annotations

if __name__ == "__main__":
    from serving import ending

    ending.stop_quietly(unwinds=True)

import argparse
import os
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from itertools import count
from typing import Any

from app.values.codes import SendKind, TransferHistoryStatus
from app.values.crypto import checksum_address
from demo import chains, gateway, reader
from demo.actors import OF_THE_USER, Gateway, Life
from demo.anvil import Anvil, AnvilMissing, installed
from demo.chains import COIN, DELAYED_OVER, LEFT, OLD, PEG, PLENTY, RIGHT, TRI, USERS
from demo.gateway import Running
from demo.network import RPC_NAMES, document
from demo.reader import Senders
from demo.transfers import Send
from demo.validators import Validators
from demo.wallet import wallet
from serving.address import Address, bind_of
from serving.ending import say_stopped

BLOCK_SECONDS = 1
BLOCK_DELAYS = (4, 6)
FINALITY = 12
POLL_SECONDS = 0.5
BETWEEN_SECONDS = 4
STEP_SECONDS = 0.5
START_SECONDS = 300
_OF_EVERY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  where to ask what listens on all addresses
VALIDATORS = Validators.of(40, 30, 20, 10)


def lives(
    hub: Gateway, nodes: dict[int, Anvil], numbers: count[int], wallets: Mapping[int, str]
) -> list[Life]:
    """One transfer of each way that there is.

    :param wallets: where somebody else sends what users send, by chain; none where the users act themselves.
    """

    def life(name: str, kind: SendKind, chain: int, amount: int = 2_000_000, **more: Any) -> Life:
        refunded, fails = more.pop("refunded", False), more.pop("fails", False)
        nonce = next(numbers)
        send = Send(
            kind=kind, chain=chain, to_chain=LEFT + RIGHT - chain, amount=amount, nonce=nonce,
            sender=USERS[nonce % 4], receiver=USERS[nonce % 4], **more,
        )  # fmt: skip
        done = set(OF_THE_USER) if wallets else set()
        return Life(name, send, hub, nodes, VALIDATORS, say, refunded=refunded, fails=fails, done=done)

    pool, deposit, burn = SendKind
    large = 2 * max(DELAYED_OVER.values())
    return [
        life("pool, paid", pool, LEFT),
        life("pool, held back", pool, LEFT, 2 * DELAYED_OVER[LEFT]),
        life("pool, refunded", pool, LEFT, refunded=True),
        life("native coin, paid", pool, LEFT, 10**15, native=True, token=COIN),
        life("deposit, minted", deposit, LEFT, token=PEG),
        life("deposit, refunded", deposit, LEFT, token=PEG, refunded=True),
        life("burn, withdrawn", burn, RIGHT, token=PEG),
        life("burn, minted elsewhere", burn, RIGHT, token=TRI),
        life("burn of version 1", burn, RIGHT, token=OLD, version=1),
        life("burn, refunded, held back", burn, RIGHT, large, token=PEG, refunded=True),
        life("never sent", pool, LEFT, fails=True),
    ]


def say(line: str) -> None:
    print(f"{datetime.now().astimezone():%H:%M:%S}  {line}", flush=True)


def what_to_claim(life: Life, wallets: Mapping[int, str]) -> str:
    """What the refund guide needs to know of a transfer that waits for its user."""
    return (
        f"claim it (docs/refund-guide.md):\n  gateway   {life.gateway.base}\n  transfer  {life.send.text}\n"
        f"  node      {wallets[life.send.chain]}\n  account   {checksum_address(life.send.sender)}"
    )


def what_to_look_at(base: str, password: str) -> str:
    return f"""
  The console   {base}/admin/   sign in as {gateway.OPERATOR} with {password}
                Transfers: each of the lines below; open one to see its events, read from the chains' logs
                Chains watched: head, read up to, proven up to, calls a minute of both chains
  An answer     curl -s {base}/v2/getTransferStatus -H 'Content-Type: application/json' \\
                  -d '{{"transfer_id": "0x…"}}'
  Readiness     {base}/readyz
  How far       the same from the command line: flask --app wsgi watch --status (DATABASE_URL as below)
  Logs          .tmp/demo/server.log, .tmp/demo/watcher.log; database sqlite:///{gateway.FOLDER}/gateway.db

  Statuses go 1 → 3 → 4 → 5, held back 4 → 11 → 5, and of refunds 1 → 3 → 6 → 7 → 8 → 9 → 10.
  The watcher reports all that happens on a chain; validators report the rest. Ctrl-C ends it.
"""


def main() -> int:
    """Run it. The exit code is 0 when every transfer came to its end, or at Ctrl-C."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    parser.add_argument("--host", default=host, help="of the gateway (default HOST, 127.0.0.1)")
    parser.add_argument("--port", type=int, default=port, help="of the gateway (default PORT, 8000)")
    parser.add_argument("--once", action="store_true", help="exit when every transfer is finished")
    parser.add_argument("--claim", action="store_true", help="claim no refunds: you claim them")
    options = parser.parse_args()
    try:
        Address(options.host, options.port).refuse_if_taken("make demo")
        installed()
        return run(options.host, options.port, once=options.once, claim=options.claim)
    except (AnvilMissing, gateway.Ended) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say_stopped()
        return 0


def run(host: str, port: int, *, once: bool, claim: bool) -> int:
    base = f"http://{bind_of(_OF_EVERY.get(host, host), port)}"
    token = secrets.token_hex(16)
    with ExitStack() as stack:
        say("starting two chains and deploying the contracts")
        nodes = {
            chain: stack.enter_context(Anvil(chain, block_seconds=BLOCK_SECONDS)) for chain in (LEFT, RIGHT)
        }
        for node in nodes.values():
            chains.prepare(node, VALIDATORS)
        reader.give_money(nodes)
        say("starting the gateway and its watcher")
        settings = gateway.environment(
            host, port, token, {RPC_NAMES[each]: nodes[each].url for each in nodes}
        )
        network = document(
            VALIDATORS, block_delays=BLOCK_DELAYS, liquidity=PLENTY,
            watch_from_block=0, finality=FINALITY, poll_seconds=POLL_SECONDS,
        )  # fmt: skip
        password = gateway.prepare(settings, network)
        running = stack.enter_context(gateway.running(settings))
        hub = Gateway(base, token)
        if not wait_until_ready(hub, running):
            print(f"the gateway does not respond at {base}: {gateway.end_of_log('server')}", file=sys.stderr)
            return 1
        wallets = {each: stack.enter_context(wallet(nodes[each].url)) for each in nodes}
        print(what_to_look_at(base, password), end="")
        print(reader.what_to_use(reader.write_settings(base, wallets), wallets), flush=True)
        return travel(hub, running, nodes, wallets if claim else {}, once=once)


def wait_until_ready(hub: Gateway, running: Running) -> bool:
    """Whether the gateway answers, after a while.

    :raises Ended: it cannot.
    """
    deadline = time.monotonic() + START_SECONDS
    while not hub.ready():
        running.refuse_if_ended()
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_SECONDS)
    return True


def travel(
    hub: Gateway, running: Running, nodes: dict[int, Anvil], wallets: Mapping[int, str], *, once: bool
) -> int:
    """Begin a transfer every few seconds, and move each on as its status asks.

    :raises Ended: the server or the watcher has.
    """
    numbers = count(1)
    planned, under_way = lives(hub, nodes, numbers, wallets), list[Life]()
    senders = Senders(hub, nodes, VALIDATORS, say)
    seen: set[int] = set()
    next_at = time.monotonic()
    while planned or under_way or (wallets and not once):
        running.refuse_if_ended()
        if planned and time.monotonic() >= next_at:
            next_at = time.monotonic() + BETWEEN_SECONDS
            under_way.append(planned.pop(0))
            under_way[-1].begin()
        under_way += senders.begun()
        for life in under_way:
            before = life.status
            life.step()
            seen.update(life.seen)
            if (
                life.send.sender in USERS
                and wallets
                and before != life.status == TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED
            ):
                say(what_to_claim(life, wallets))
        under_way = [life for life in under_way if not life.over]
        if not planned and not once and not wallets:  # what waits for its user would pile up
            planned = lives(hub, nodes, numbers, wallets)
        time.sleep(STEP_SECONDS)
    say(f"all transfers are finished; statuses seen: {', '.join(map(str, sorted(seen)))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
