"""A process that asks one node once: prints what came of it, and the most memory that it took."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from app.cli import watch  # noqa: F401  all that a watcher has in memory
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rpc.client import Client
from app.watcher.rpc.faults import RpcFault
from app.watcher.rpc.node import Node, Wanted

WANTED = Wanted((b"\x11" * 20,), (b"\x22" * 32,))

if __name__ == "__main__":
    url, question, seconds = sys.argv[1:]
    client = Client(url, seconds=float(seconds))
    node = Node("RPC_URL_TEST", ChainId(1), client)
    began = time.monotonic()
    try:
        if question == "logs":
            said = f"{len(node.logs(WANTED, BlockNumber(1), BlockNumber(9)).logs)} logs"
        else:
            node.look(None, finalized=False)
            said = "a head"
    except RpcFault as fault:
        said = f"{type(fault).__name__}: {fault}"
    # Not ru_maxrss, which begins with what the parent had.
    peak = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) // 1024
    print(f"{time.monotonic() - began:.1f}|{peak}|{said}")
