"""Clients that send bodies in chunks of one byte, as fast as they are read: ``python -m … HOST PORT COUNT``.

They request a status: a body for no address is not read by the application. A process of its own, so that
the probe of the server does not wait for these.
"""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from threading import Thread

_CHUNKS = b"1\r\na\r\n" * 20_000
_HEAD = (
    b"POST /v2/getTransferStatus HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def send_for_ever(host: str, port: int) -> None:
    """One client after the other: each until the server has read enough of it."""
    while True:
        with suppress(OSError), socket.create_connection((host, port)) as wire:
            wire.sendall(_HEAD)
            while True:
                wire.sendall(_CHUNKS)


if __name__ == "__main__":
    for _ in range(int(sys.argv[3])):
        Thread(target=send_for_ever, args=(sys.argv[1], int(sys.argv[2])), daemon=True).start()
    sys.stdin.read()  # until the test ends
