"""Which URLs of a chain are of one provider: they may share a fault, so they never confirm each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def voices_of(
    hosts: Mapping[str, str], same: Collection[str] = (), independent: Collection[str] = ()
) -> dict[str, str]:
    """By the name of each URL its voice: the name of the first URL of its provider.

    Hosts that share their last two labels are of one provider; IP addresses only where they are equal.

    :param hosts: by name, in the operator's order.
    :param same: names of URLs of one provider. It outranks ``independent``.
    :param independent: names of URLs of different ones.
    """
    found: dict[str, str] = {}
    for name, host in hosts.items():
        found[name] = next(
            (
                voice
                for other, voice in found.items()
                if {name, other} <= set(same)
                or (_provider(hosts[other]) == _provider(host) and not {name, other} <= set(independent))
            ),
            name,
        )
    return found


def _provider(host: str) -> str:
    is_address = ":" in host or host.replace(".", "").isdigit()
    return host if is_address else ".".join(host.lower().rstrip(".").split(".")[-2:])
