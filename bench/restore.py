"""How long backing up and restoring many transfers takes (PostgreSQL 18, base backup and WAL).

``python -m bench.restore --filled DIR`` takes a folder that ``python -m bench.scale --keep DIR`` has filled,
such as ``DIR/10000000``, **and uses it up**: its data directory is moved, lost and restored. Without it a
small one is filled first. ``--folder`` needs room for twice the database, and a short name, for a socket.
"""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import orjson
from sqlalchemy import text

from app.domain.audit import Actor, Source
from app.models.engine import reading
from app.runtime.gateway import Gateway, current_gateway
from app.services.feed.ingest import ingest_lines
from bench.contenders import GUNICORN, OURS, POSTGRES, Setting, command, settings_for
from bench.database import gateway_on
from bench.grow import grow
from bench.restorable import Machine, wheel_programs
from bench.serving import ask, serving
from bench.synthetic_transfers import SyntheticTransfers, digest_of, events_of

LIMIT_SECONDS: Final = 600.0
"""A restore may take no longer at ten million transfers."""

SMALL: Final = 20_000
FURTHER: Final = 20_000
"""Transfers that are reported after the backup, so that there is WAL to replay."""

_BATCH: Final = 2_000
KEY: Final = (GUNICORN, OURS, POSTGRES)
_FROM_FILLING: Final = ("postmaster.pid", "postmaster.opts", ".handle_pids.json", "log")


def main(arguments: list[str] | None = None) -> int:
    """Back up, lose, restore, and print how long each took; 1 where the restore took too long."""
    options = _options(arguments)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="gw-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    machine = Machine(wheel_programs(), folder / "m", "pgserver" if os.geteuid() == 0 else None)
    try:
        return _measure(machine, options.filled, options.further)
    finally:
        machine.stop()
        if not options.folder:
            shutil.rmtree(folder)


def _measure(machine: Machine, filled: Path | None, further: int) -> int:
    _take(machine, filled)
    machine.start()
    with _gateway(machine) as gateway:
        if filled is None:
            grow(gateway, SyntheticTransfers(SMALL, gateway.clock()), actor=Actor("cli:bench", Source.CLI))
        before = _count(gateway)
    backup = machine.folder / "base"
    with _timed("base backup", lambda: _size(backup)):
        machine.back_up(backup)
    with _gateway(machine) as gateway, _timed(f"{further:,} transfers reported since", lambda: ""):
        _report(gateway, before, further)
        kept = _count(gateway)
    machine.archive_all()
    wal = _size(machine.archive)
    machine.lose()
    began = time.monotonic()
    with _timed("files copied back", lambda: _size(backup)):
        machine.run("cp", "-a", str(backup), str(machine.data))
    with _timed("WAL replayed", lambda: wal):
        machine.recover(f"restore_command = 'cp {machine.archive}/%f %p'", None)
        machine.start()
    setting = Setting(sqlite_url="", postgres_url=machine.url(), processes=2, threads=8)
    log = machine.folder / "gateway.log"
    with (
        _timed("gateway ready", lambda: ""),
        serving(command(KEY, setting), settings_for(KEY, setting), log) as up,
    ):
        ask(up.port, "GET", "/readyz")
    seconds = time.monotonic() - began
    with _gateway(machine) as gateway:
        restored = _count(gateway)
    print(f"restored: {restored:,} transfers in {seconds:.0f} s (at most {LIMIT_SECONDS:.0f})")
    if restored != kept:
        print(f"LOST: there were {kept:,}")
    return int(restored != kept or seconds > LIMIT_SECONDS)


def _take(machine: Machine, filled: Path | None) -> None:
    """A data directory that archives: one that was filled, or a new one."""
    if filled is None:
        machine.create()
        return
    shutil.move(filled / "pg", machine.data)
    for left in _FROM_FILLING:
        (machine.data / left).unlink(missing_ok=True)
    # What it was filled with would make a backup impossible, or an unsafe server.
    (machine.data / "postgresql.auto.conf").write_text("")
    machine.configure(*machine.archiving(), "max_wal_size = 4GB")
    if machine.user:
        account = pwd.getpwnam(machine.user)
        os.chown(machine.data / "postgresql.auto.conf", account.pw_uid, account.pw_gid)


@contextmanager
def _gateway(machine: Machine) -> Iterator[Gateway]:
    with gateway_on(machine.url()):
        yield current_gateway()


def _report(gateway: Gateway, before: int, further: int) -> None:
    """Report transfers that are not in the database yet, as a reporter would."""
    made = SyntheticTransfers(further, gateway.clock(), 1)
    events = (
        orjson.dumps(event)
        for number, transfer in enumerate(made)
        for event in events_of(transfer._replace(digest=digest_of(before + number)))
    )
    lines: list[bytes] = []
    for line in events:
        lines.append(line)
        if len(lines) == _BATCH:
            ingest_lines(gateway, lines, "bench")
            lines = []
    ingest_lines(gateway, lines, "bench")


def _count(gateway: Gateway) -> int:
    with reading(gateway.engine) as connection:
        found: int = connection.scalar(text("SELECT count(*) FROM transfers")) or 0
    return found


@contextmanager
def _timed(what: str, of: object) -> Iterator[None]:
    began = time.monotonic()
    yield
    size = of() if callable(of) else of
    print(f"{what}: {time.monotonic() - began:.0f} s {size}", flush=True)


def _size(folder: Path) -> str:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return f"({size / 1e9:.2f} GB)"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filled", type=Path, help="a folder that bench.scale has filled; it is used up")
    parser.add_argument("--folder", type=Path, help="where everything is kept afterwards")
    parser.add_argument("--further", type=int, default=FURTHER, help="transfers reported after the backup")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
