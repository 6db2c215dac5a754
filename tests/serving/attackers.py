"""Clients that mean no good, all from loopback; ``tests/serving/crowd.py`` has the slow ones."""

from __future__ import annotations

import re
import socket

from tests.serving.crowd import STRANGER, Listener, connect


def exchange(server: Listener, *pieces: bytes, source: str = STRANGER) -> bytes:
    """Send these bytes on a new connection; all that comes back until the server closes or is done."""
    with connect(server, source) as wire:
        try:
            for piece in pieces:
                wire.sendall(piece)
            wire.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it closed while we were still sending
        answer = b""
        try:
            while not _complete(answer) and (piece := wire.recv(65536)):
                answer += piece
        except OSError:
            pass
        return answer


def _complete(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])
