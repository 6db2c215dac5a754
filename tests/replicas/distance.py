"""A database server far away: ``python -m tests.replicas.distance SOCKET SECONDS`` prints a port to it.

A connection takes a round trip to open, and what is sent on it arrives so many seconds later, each way.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.deploy.files import ROOT


@contextmanager
def distance(socket: str, seconds: float) -> Iterator[int]:
    """The port of a proxy in a process of its own, ended with the block.

    :param socket: of the server.
    """
    command = [sys.executable, "-m", "tests.replicas.distance", socket, str(seconds)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout
            yield int(child.stdout.readline())
        finally:
            child.terminate()


async def carry(reader: StreamReader, writer: StreamWriter, seconds: float, opened: float) -> None:
    """Pass everything on, so many seconds after it was sent.

    :param opened: before that, nothing can be sent.
    """
    loop, under_way = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def receive() -> None:
        part = b"first"
        with suppress(ConnectionError):
            while part:
                part = await reader.read(1 << 16)
                under_way.put_nowait((max(loop.time(), opened) + seconds, part))

    receiving = loop.create_task(receive())
    with suppress(ConnectionError):
        while True:
            at, part = await under_way.get()
            await asyncio.sleep(at - loop.time())
            if not part:
                break
            writer.write(part)
    writer.close()
    await receiving


async def main(socket: str, away: str) -> None:
    """Listen until the process is ended."""
    seconds = float(away)

    async def connect(reader: StreamReader, writer: StreamWriter) -> None:
        opened = asyncio.get_running_loop().time() + 2 * seconds
        there = await asyncio.open_unix_connection(socket)
        await asyncio.gather(
            carry(reader, there[1], seconds, opened), carry(there[0], writer, seconds, opened)
        )

    server = await asyncio.start_server(connect, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
