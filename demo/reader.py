"""Who reads docs/tutorial.md: an account with money, what its owner has to know, and what it sends."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.values.codes import SendKind
from app.values.crypto import address_of, checksum_address
from demo.actors import OF_THE_USER, Gateway, Life, Say
from demo.anvil import Anvil, programs
from demo.chains import COIN, DECIMALS, DEPLOYER, LEFT, POOL, RIGHT, USDX, USERS
from demo.contracts import events_of
from demo.gateway import FOLDER, ROOT
from demo.network import CHAIN_NAMES
from demo.transfers import Send
from demo.validators import Validators

KEY: Final = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""The key of Anvil's first account. Everybody knows it, so nobody takes it for a secret."""

ACCOUNT: Final = address_of(bytes.fromhex(KEY.removeprefix("0x")))
WHOLE_USDX, WHOLE_COIN = 1000, 100
PRICE_MOVES_PPM: Final = 100
"""By how much less arrives than was quoted. The network refuses what tolerates less than that."""

ENV: Final = "env"
"""The file with the settings of a shell, next to the logs."""


def give_money(nodes: Mapping[int, Anvil]) -> None:
    """Tokens on the left chain, and coin for gas on both."""
    for node in nodes.values():
        node.give(ACCOUNT, WHOLE_COIN * 10**18)
    USDX.call(DEPLOYER, "mint", ACCOUNT, WHOLE_USDX * 10 ** DECIMALS[LEFT]).send(nodes[LEFT])


def write_settings(base: str, wallets: Mapping[int, str]) -> Path:
    """A file that a shell reads: addresses, the account with its key, and where ``cast`` is."""
    values = {
        "GATEWAY": base,
        "LEFT_NODE": wallets[LEFT],
        "RIGHT_NODE": wallets[RIGHT],
        "ACCOUNT": checksum_address(ACCOUNT),
        "KEY": KEY,
        "USDX": USDX.text,
        "BRIDGE": POOL.text,
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    lines.append(f'export PATH={shlex.quote(str(programs()))}:"$PATH"')
    file = FOLDER / ENV
    file.write_text("\n".join(lines) + "\n")
    return file.relative_to(ROOT)


def what_to_use(file: Path, wallets: Mapping[int, str]) -> str:
    def chain(number: int) -> str:
        decimals = f"USDX has {DECIMALS[number]} decimals"
        return f"{CHAIN_NAMES[number]:<13} chain {number}, node {wallets[number]}, {decimals}"

    money = f"{WHOLE_USDX:,} USDX and {WHOLE_COIN} COIN on {CHAIN_NAMES[LEFT]}"
    return f"""
  Your account  {checksum_address(ACCOUNT)}, with {money}
  Its test key  {KEY}
                everybody knows this key: never send real money to the account
  {chain(LEFT)}
  {chain(RIGHT)}
  Contracts     USDX {USDX.text}, bridge {POOL.text}, on both chains
  To use them   type  . {file}  in another terminal, in this folder, and follow docs/tutorial.md
"""


@dataclass
class Senders:
    """Finds what others than the demonstration's own users send, in the logs of the pool's contract."""

    hub: Gateway
    nodes: Mapping[int, Anvil]
    validators: Validators
    say: Say
    _next: dict[int, int] = field(default_factory=dict)

    def begun(self) -> Iterator[Life]:
        """The transfers that are in blocks since the last call. Refunds are left to who sent them."""
        for chain, node in self.nodes.items():
            head, first = node.head, self._next.get(chain, 0)
            if first > head:
                continue
            self._next[chain] = head + 1
            blocks = {"fromBlock": hex(first), "toBlock": hex(head), "address": POOL.text}
            for name, values in events_of({"logs": node.rpc("eth_getLogs", blocks)}):
                if name == "Send" and (send := _send(chain, values)) is not None:
                    yield Life(
                        "yours", send, self.hub, self.nodes, self.validators, self.say,
                        refunded=send.max_slippage < send.moved_ppm, done=set(OF_THE_USER),
                    )  # fmt: skip


def _send(chain: int, values: Mapping[str, Any]) -> Send | None:
    """The transfer of an event; None where it is of the demonstration's own users, or cannot be paid."""
    sender, receiver, token = (bytes.fromhex(values[name][2:]) for name in ("sender", "receiver", "token"))
    to_chain = values["dstChainId"]
    known = {each.address: each for each in (USDX, COIN)}
    if sender in USERS or token not in known or {chain, to_chain} != {LEFT, RIGHT}:
        return None
    return Send(
        kind=SendKind.POOL, chain=chain, to_chain=to_chain, amount=values["amount"], nonce=values["nonce"],
        sender=sender, receiver=receiver, max_slippage=values["maxSlippage"], token=known[token],
        moved_ppm=PRICE_MOVES_PPM,
    )  # fmt: skip
