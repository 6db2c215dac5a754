"""EVM nodes on this machine: anvil, a binary out of the npm registry, exactly as the lock file has it."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

import httpx

from demo import processes

FOLDER = Path(__file__).parent / "node"
WORKSHOP = FOLDER.parent.parent / ".tmp" / "anvil"
NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
LISTENS = re.compile(r"Listening on (127\.0\.0\.1:\d+)")
SECONDS_TO_INSTALL = 300
GAS = 8_000_000


class AnvilMissing(RuntimeError):
    """There is no node to run; the text says what to install."""


class RpcError(RuntimeError):
    """The node answered with an error."""


def installed() -> Path:
    """The path of the binary. Installs it once, into ``.tmp/``; other processes wait meanwhile.

    The lock file has it for Linux on x86-64. On other machines an ``anvil`` that is there already is taken.

    :raises AnvilMissing: with what to install.
    """
    if not _ours():
        found = shutil.which("anvil")
        if found is None:
            raise AnvilMissing(
                "install anvil (https://getfoundry.sh): the lock file has it only for Linux on x86-64"
            )
        return Path(found)
    WORKSHOP.mkdir(parents=True, exist_ok=True)
    lock_file = (FOLDER / "package-lock.json").read_text()
    stamp = WORKSHOP / "stamp"
    with _locked(WORKSHOP / "lock"):
        if not stamp.exists() or stamp.read_text() != lock_file:
            _install()
            stamp.write_text(lock_file)
    return programs() / "anvil"


def programs() -> Path:
    """Where anvil is, and next to it ``cast``, the wallet of the command line."""
    found = None if _ours() else shutil.which("anvil")
    return Path(found).parent if found else WORKSHOP / "node_modules" / ".bin"


def _ours() -> bool:
    """Whether the lock file has programs for this machine."""
    return (platform.system(), platform.machine()) == ("Linux", "x86_64")


def _install() -> None:
    if shutil.which("npm") is None:
        raise AnvilMissing(
            "npm is missing, which is needed to install anvil: install Node 20 or newer with npm"
        )
    for name in ("package.json", "package-lock.json"):
        shutil.copy(FOLDER / name, WORKSHOP)
    done = subprocess.run(
        NPM_CI, cwd=WORKSHOP, capture_output=True, text=True, check=False, timeout=SECONDS_TO_INSTALL
    )
    if done.returncode:
        raise AnvilMissing(
            f"npm could not install anvil: {_one_line(done.stderr)}; let npm reach its registry"
        )


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Anvil:
    """One node of one chain, from the genesis block on. Ends with its ``with`` block.

    :param start: the time of the genesis block, in seconds since 1970.
    :param block_seconds: mines by itself that often; None mines when it is told to.
    """

    def __init__(self, chain_id: int, *, start: int | None = None, block_seconds: int | None = None) -> None:
        mining = ["--no-mining"] if block_seconds is None else ["--block-time", str(block_seconds)]
        began = [] if start is None else ["--timestamp", str(start)]
        self.chain_id = chain_id
        self._process = processes.start(
            [
                str(installed()), "--port", "0", "--chain-id", str(chain_id), *mining, *began,
                "--order", "fifo", "--auto-impersonate", "--hardfork", "cancun",
                "--gas-price", "0", "--block-base-fee-per-gas", "0", "--disable-min-priority-fee",
                "--accounts", "1", "--no-cors", "--gas-limit", "60000000",
            ],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        )  # fmt: skip
        output = cast("IO[str]", self._process.stdout)
        self.url = f"http://{_listening(output)}"
        # What it prints must be read, or it waits for its pipe to have room.
        threading.Thread(target=output.read, daemon=True).start()
        self._client = httpx.Client(timeout=30, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()

    def rpc(self, method: str, *params: Any) -> Any:
        """What the node answers.

        :raises RpcError: an error.
        """
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._client.post(self.url, json=call).json()
        if "error" in answer:
            raise RpcError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    @property
    def head(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def block(self, number: int | str = "latest") -> Mapping[str, Any]:
        name = hex(number) if isinstance(number, int) else number
        found: Mapping[str, Any] = self.rpc("eth_getBlockByNumber", name, False)
        return found

    def send(self, sender: bytes, to: bytes | None, data: bytes, value: int = 0) -> str:
        """Send a transaction of anybody's to wait for the next block; its hash. Nobody pays for gas."""
        call = {
            "from": f"0x{sender.hex()}",
            "data": f"0x{data.hex()}",
            "gas": hex(8_000_000),
            "gasPrice": "0x0",
        }
        if to is not None:
            call["to"] = f"0x{to.hex()}"
        if value:
            call["value"] = hex(value)
        sent: str = self.rpc("eth_sendTransaction", call)
        return sent

    def would_succeed(self, sender: bytes, to: bytes | None, data: bytes) -> bool:
        """Whether a transaction would, in the next block."""
        call = {"from": f"0x{sender.hex()}", "data": f"0x{data.hex()}"}
        if to is not None:
            call["to"] = f"0x{to.hex()}"
        try:
            self.rpc("eth_call", call, "pending")
        except RpcError:
            return False
        return True

    def receipt(self, tx_hash: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.rpc("eth_getTransactionReceipt", tx_hash)
        return found

    def mine(self, at: int | None = None) -> None:
        """Mine one block of what waits, at this time."""
        if at is not None:
            self.rpc("evm_setNextBlockTimestamp", at)
        self.rpc("evm_mine")

    def coinbase(self, address: bytes) -> None:
        """Who mines from now on. Another one gives the same transactions another block hash."""
        self.rpc("anvil_setCoinbase", f"0x{address.hex()}")

    def snapshot(self) -> str:
        """Remember this block and its state."""
        name: str = self.rpc("evm_snapshot")
        return name

    def revert(self, snapshot: str) -> None:
        """Go back. A snapshot is good for one time."""
        if not self.rpc("evm_revert", snapshot):
            raise RpcError(f"evm_revert: {snapshot} is gone")

    def give(self, address: bytes, amount: int) -> None:
        """Set the native coin of an address."""
        self.rpc("anvil_setBalance", f"0x{address.hex()}", hex(amount))


def _listening(output: IO[str]) -> str:
    said = []
    for line in output:
        if found := LISTENS.search(line):
            return found[1]
        said.append(line)
    raise AnvilMissing(f"anvil did not start: {_one_line(''.join(said))}; delete {WORKSHOP}, and try again")


def _one_line(output: str) -> str:
    return " ".join(output.split())[-500:]
