"""Which URLs of a chain are of one provider: they may share a fault, so they never confirm each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def voices_of(
    hosts: Mapping[str, str], same: Collection[str] = (), independent: Collection[str] = ()
) -> dict[str, str]:
    """The voice of each URL, by its name: the name of the first URL of its provider.

    Hosts that share their last two labels are of one provider; IP addresses only where they are equal. A URL
    that is of one provider with two others makes them one, unless the operator parts them.

    :param hosts: by name, in the operator's order.
    :param same: names of URLs of one provider. It outranks ``independent``.
    :param independent: names of URLs of different ones.
    """
    parted, order, found = set(independent), list(hosts), dict[str, str]()
    for name, host in hosts.items():
        akin = [
            other
            for other in found
            if {name, other} <= set(same)
            or (_provider(hosts[other]) == _provider(host) and not {name, other} <= parted)
        ]
        voices = sorted({found[other] for other in akin} or {name}, key=order.index)
        found[name] = voices[0]
        for joined in voices[1:]:
            both = [other for other, voice in found.items() if voice in (joined, found[name])]
            if len(parted.intersection(both)) < 2:
                found.update((other, found[name]) for other in both)
    return found


def _provider(host: str) -> str:
    is_address = ":" in host or host.replace(".", "").isdigit()
    return host if is_address else ".".join(host.lower().rstrip(".").split(".")[-2:])
