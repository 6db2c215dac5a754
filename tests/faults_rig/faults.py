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
    prepare: Callable[[Stage], None] = lambda _stage: None
    restore: Callable[[Stage], None] = lambda _stage: None
    possible: Callable[[Stage], bool] = lambda _stage: True


def _stop(stage: Stage) -> None:
    stage.primary.stop()


def _start(stage: Stage) -> None:
    stage.primary.start()


def _freeze(stage: Stage) -> None:
    stage.primary.signal(signal.SIGSTOP)


def _thaw(stage: Stage) -> None:
    stage.primary.signal(signal.SIGCONT)


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


def _end_redis(stage: Stage) -> None:
    stage.redis.end(signal.SIGKILL)


def _start_redis(stage: Stage) -> None:
    stage.redis.start()


def _kill_worker(stage: Stage) -> None:
    stage.gateways[0].kill_worker()


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


def _own_clock(stage: Stage) -> None:
    stage.gateways[0].end()
    stage.gateways[0].start_with_a_clock()


def _usual_clock(stage: Stage) -> None:
    stage.gateways[0].end()
    stage.gateways[0].start()


def _move_clock(stage: Stage) -> None:
    _set_clock(stage.gateways[0], HOUR)


def _right_clock(stage: Stage) -> None:
    _set_clock(stage.gateways[0], 0)


def _set_clock(gateway: Gateway, seconds: int) -> None:
    new = gateway.clock.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.rename(gateway.clock)


def _pause_replay(stage: Stage) -> None:
    stage.replica.query("SELECT pg_wal_replay_pause()")


def _resume_replay(stage: Stage) -> None:
    stage.replica.query("SELECT pg_wal_replay_resume()")


FAULTS = (
    Fault("nothing happens", lambda _stage: None),
    Fault("database stopped", _stop, _start),
    Fault("database frozen", _freeze, _thaw),
    Fault("PgBouncer restarted", _restart_pooler),
    Fault("Redis gone", _end_redis, _start_redis),
    Fault("a worker killed", _kill_worker),
    Fault("rolling restart", _restart_all),
    Fault("replica lagging", _pause_replay, _resume_replay),
    Fault(
        "clock moved by an hour",
        _move_clock,
        _right_clock,
        prepare=_own_clock,
        restore=_usual_clock,
        possible=lambda _stage: FAKETIME.exists(),
    ),
    Fault("disk full", _fill_disk, _free_disk, possible=lambda stage: stage.disk is not None),
    Fault("failed over to the replica", _fail_over),
)
"""In the order in which they are made: after the last there is no replica."""
