"""Work in turns lets everybody else go on, also whoever only now has something to read."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

TURNS_AT_MOST: Final = 3
"""Between a byte's coming and its reader. ``sleep(0)`` lets up to fifty pass."""

WORK_AND_READ: Final = """
from gevent import monkey

monkey.patch_all()
import os

import gevent
from gevent.os import make_nonblocking, nb_read

from app.cooperation import give_way

reading, writing = os.pipe()
make_nonblocking(reading)
turns, found = 0, []

def read():
    while nb_read(reading, 1) == b"x":
        found.append(turns)

reader = gevent.spawn(read)
gevent.sleep(0.01)  # it waits now
sent = []
for turns in range(200):
    if turns % 20 == 0:
        os.write(writing, b"x")
        sent.append(turns)
    give_way()
print(len(sent), max(late - early for early, late in zip(sent, found, strict=True)))
"""


def test_a_socket_is_looked_at_in_every_turn() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WORK_AND_READ], capture_output=True, text=True, timeout=60, check=True
    )
    sent, most = map(int, ran.stdout.split())
    assert sent == 10
    assert most <= TURNS_AT_MOST
