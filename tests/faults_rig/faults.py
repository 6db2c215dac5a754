"""The faults: how each begins, and how its cause goes away again."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from tests.faults_rig.programs import FAKETIME, Gateway
from tests.faults_rig.stage import Stage

HOUR: Final = 3600
"""In seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One of them.

    :param begin: takes something away.
    :param end: gives it back after the time of a fault; None where it only begins, and what runs must cope.
    :param prepare: what is to be done before anything is measured, and ``restore`` afterwards.
    :param possible: whether it can be made here.
    """

    name: str
    begin: Callable[[Stage], None]
    end: Callable[[Stage], None] | None = None
    prepare: Callable[[Stage], None] = lambda _: None
    restore: Callable[[Stage], None] = lambda _: None
    possible: Callable[[Stage], bool] = lambda _: True


def _fail_over(stage: Stage) -> None:
    """The primary dies; the replica is promoted, and the pooler led there."""
    stage.primary.stop()
    time.sleep(2)
    stage.replica.promote()
    stage.bouncer.lead_to(stage.replica)
    stage.bouncer.process.send_signal(signal.SIGHUP)
    stage.primary = stage.replica


def _restart_pooler(stage: Stage) -> None:
    stage.bouncer.end(signal.SIGKILL)
    stage.bouncer.start()


def _restart_all(stage: Stage) -> None:
    """One gateway after the other, as an upgrade does it: the next when the one before is ready."""
    for gateway in stage.gateways:
        gateway.end()
        gateway.start()


def _fill_disk(stage: Stage) -> None:
    assert stage.disk is not None
    with (stage.disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(65_536)):
            pass


def _free_disk(stage: Stage) -> None:
    """Remove what filled it. A server that ended because of it is started again."""
    assert stage.disk is not None
    (stage.disk / "ballast").unlink()
    if not stage.primary.runs():
        stage.primary.start()


def _set_clock(gateway: Gateway, seconds: int) -> None:
    new = gateway.clock.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.rename(gateway.clock)


def _restart_gateway(stage: Stage, *, own_clock: bool) -> None:
    gateway = stage.gateways[0]
    gateway.end()
    if own_clock:
        gateway.start_with_a_clock()
    else:
        gateway.start()


FAULTS = (
    Fault("nothing happens", lambda _: None),
    Fault("database stopped", lambda stage: stage.primary.stop(), lambda stage: stage.primary.start()),
    Fault(
        "database frozen",
        lambda stage: stage.primary.signal(signal.SIGSTOP),
        lambda stage: stage.primary.signal(signal.SIGCONT),
    ),
    Fault("PgBouncer restarted", _restart_pooler),
    Fault("Redis gone", lambda stage: stage.redis.end(signal.SIGKILL), lambda stage: stage.redis.start()),
    Fault("a worker killed", lambda stage: stage.gateways[0].kill_worker()),
    Fault("rolling restart", _restart_all),
    Fault(
        "replica lagging",
        lambda stage: stage.replica.query("SELECT pg_wal_replay_pause()"),
        lambda stage: stage.replica.query("SELECT pg_wal_replay_resume()"),
    ),
    Fault(
        "clock moved by an hour",
        lambda stage: _set_clock(stage.gateways[0], HOUR),
        lambda stage: _set_clock(stage.gateways[0], 0),
        prepare=lambda stage: _restart_gateway(stage, own_clock=True),
        restore=lambda stage: _restart_gateway(stage, own_clock=False),
        possible=lambda _: FAKETIME.exists(),
    ),
    Fault("disk full", _fill_disk, _free_disk, possible=lambda stage: stage.disk is not None),
    Fault("failed over to the replica", _fail_over),
)
"""In the order in which they are made: after the last there is no replica."""
