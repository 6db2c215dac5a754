"""What can become of a node, and the time within which writes have to be back."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from tests.patroni.nodes import Cluster, Node

TTL_SECONDS: Final = 20
"""Of deploy/patroni/config.yml."""

AFTER_KILL, AFTER_SILENCE = 20, TTL_SECONDS + 15
"""Seconds until writes are back: of a kill that Patroni sees, and of a node that is silent."""


class Fault(Struct, frozen=True):
    """One of them.

    :param begin: does it to a node.
    :param whom: the node that it is done to.
    :param seconds: how long it lasts, where it has an end.
    :param end: ends it; None where what runs has to cope.
    :param within: seconds until events are accepted again.
    """

    name: str
    whom: Callable[[Cluster], Node]
    begin: Callable[[Node], None]
    within: int
    seconds: int = 0
    end: Callable[[Node], None] | None = None


def _leader(cluster: Cluster) -> Node:
    return cluster.leader


def _standby(cluster: Cluster) -> Node:
    return cluster.standby


def _kill(node: Node) -> None:
    node.signal(signal.SIGKILL, "postgres")


def _lose(node: Node) -> None:
    node.signal(signal.SIGKILL, "patroni", "postgres", "etcd")


def _freeze(node: Node) -> None:
    node.signal(signal.SIGSTOP, "patroni", "postgres")


def _wake(node: Node) -> None:
    # PostgreSQL first: it may do harm until its Patroni stops it.
    node.signal(signal.SIGCONT, "postgres", "patroni")


FAULTS: Final = (
    Fault("PostgreSQL of the leader killed", _leader, _kill, AFTER_KILL),
    Fault("PostgreSQL of the standby killed", _standby, _kill, AFTER_KILL),
    Fault("leader of etcd killed", lambda cluster: cluster.leader_of_etcd,
          lambda node: node.signal(signal.SIGKILL, "etcd"), AFTER_KILL),
    Fault("machine of the leader lost", _leader, _lose, AFTER_SILENCE),
    Fault("leader frozen and awake again", _leader, _freeze, AFTER_SILENCE, 45, _wake),
    Fault("leader cut off and connected again", _leader, lambda node: node.link("down"), AFTER_SILENCE, 45,
          lambda node: node.link("up")),
)  # fmt: skip
