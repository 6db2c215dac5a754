"""Settings that are addresses on the web: what they must be. Only ``config.py`` reads the environment."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_MAIL = re.compile(r"mailto:[^\s@?&<>\"']+@[^\s@?&<>\"']+")

_SHOWN_TO_USERS = {
    "public_url": "the https address of the public pages without a path, such as https://gateway.example.org",
    "support_url": "the https address of a page where users get help, or mailto: and an address",
    "refund_url": "an https address such as https://app.example.org/refund?id={transfer_id}",
}

_HOST_NAME = re.compile(r"(?:[a-z0-9-]{1,63}\.)*(?!\d+$)[a-z0-9-]{1,63}")
"""A host's name: its last part is no number, as that of an address is."""


def console_origin(value: str) -> str:
    """The console's address as browsers write it: lower case, without a default port or a slash at the end.

    :raises ValueError: it is none.
    """
    if not value:
        return value
    parts = urlsplit(value.lower().removesuffix("/"))
    host, port = parts.hostname or "", _port(parts)
    local = host == "localhost"
    if (
        parts.scheme not in (("https", "http") if local else ("https",))
        or not _HOST_NAME.fullmatch(host)
        or port is None
        or parts.username is not None
        or any((parts.path, parts.query, parts.fragment))
    ):
        raise ValueError(
            "must be the address of the console in browsers, such as https://console.example.org: a "
            "host name, not an IP address, and no path"
        )
    shown = "" if port in (0, {"https": 443, "http": 80}[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}"


def shown_to_users(name: str, value: str) -> str:
    """An address that pages link to. Those of this gateway link from the root, so it has no path.

    :raises ValueError: it is none; says what the setting of this name must be.
    """
    value = value.removesuffix("/") if name == "public_url" else value
    page = value.replace("{transfer_id}", "0") if name == "refund_url" else value
    mail = name == "support_url" and _MAIL.fullmatch(value)
    if value and not mail and (not _is_web_page(page) or (name == "public_url" and urlsplit(page).path)):
        raise ValueError(f"must be {_SHOWN_TO_USERS[name]}")
    return value


def audit_anchor(value: str) -> str:
    """Where heads of the audit log are noted: a file, or a syslog.

    :raises ValueError: it is neither.
    """
    parts = urlsplit(value)
    local = parts.scheme in ("file", "unix") and not parts.netloc and parts.path.startswith("/")
    remote = parts.scheme in ("udp", "tcp") and parts.hostname and _port(parts) and not parts.path
    if not (local or remote) or parts.query or parts.fragment:
        raise ValueError(
            f"{value!r} must be a file such as file:/var/log/gateway/heads, or a syslog such as "
            "unix:/dev/log, udp://logs.example.org:514 or tcp://logs.example.org:601"
        )
    return value


def secrets_of_url(url: str) -> tuple[str, ...]:
    """The parts of a URL by which it lets somebody in: password and query, of a node's also user and path."""
    parts = urlsplit(url)
    userinfo = parts.netloc.rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    found = [password, unquote(password), *(value for _, value in parse_qsl(parts.query))]
    if parts.scheme in ("http", "https"):
        found += [user, parts.path.strip("/"), *parts.path.split("/")]
    return tuple(filter(None, found))


def is_http_url(text: str) -> bool:
    """Whether it is an http or https URL."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and _port(parts) is not None
    except ValueError:
        return False


def _is_web_page(text: str) -> bool:
    """Whether pages may link to it: https, or http on this machine, and nothing that a link cannot have."""
    if not is_http_url(text) or re.search(r"[\s<>\"'{}\\]", text):
        return False
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        return False
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def _port(parts: SplitResult) -> int | None:
    """The port, 0 where none is named; None where it cannot be one."""
    try:
        return parts.port or 0
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
