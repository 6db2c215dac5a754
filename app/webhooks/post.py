"""One attempt: to an address that was checked. Of the answer only status and ``Retry-After`` are read.

A thread that resolves a name cannot be stopped, and may run on after the caller's timeout. So names that were
resolved the last time have their own threads, apart from the others: name servers that hang delay new names
only.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv6Address
from typing import Final

import httpx

from app.webhooks.rules.addresses import (
    Address,
    AddressRefused,
    Network,
    Target,
    checked_addresses,
    is_allowed,
    parse_url,
)

RESOLVE_SECONDS: Final = 5.0
THREADS: Final = 64
"""Threads for new names, and as many for names that were resolved before."""

REMEMBERED: Final = 10_000
"""Names that were resolved; the least recently used is dropped."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host and a port to addresses. An address resolves to itself."""


class NotResolved(Exception):
    """The name has no address, or none came in time."""


class Resolver:
    """Resolves names by the system's resolver."""

    def __init__(self) -> None:
        self._for_new = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve-new")
        self._for_answered = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve")
        self._answered: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, host: str, port: int) -> list[str]:
        """The addresses, the best first.

        :raises NotResolved: there is none.
        """
        threads = self._for_answered if host in self._answered else self._for_new
        pending = asyncio.get_running_loop().run_in_executor(threads, _resolve, host, port)
        try:
            found = await asyncio.wait_for(pending, RESOLVE_SECONDS)
        except (OSError, UnicodeError, TimeoutError):
            self._answered.pop(host, None)
            raise NotResolved from None
        self._answered[host] = None
        self._answered.move_to_end(host)
        if len(self._answered) > REMEMBERED:
            self._answered.popitem(last=False)
        return found

    def close(self) -> None:
        """End without waiting for name servers that hang."""
        for threads in (self._for_new, self._for_answered):
            threads.shutdown(wait=False, cancel_futures=True)


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(address[0]) for _, _, _, _, address in found]


CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 15.0
"""The timeout of everything after the name is resolved."""

MOST_ADDRESSES: Final = 3
"""Addresses of one name that are tried, one after another, until one can be connected to."""

_HEADERS: Final = {
    "Content-Type": "application/json",
    "User-Agent": "transfer-gateway-webhooks",
    "Accept": "*/*",
}

# Both log the URL of each request, and URLs of receivers often contain a token.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Unsent(Exception):
    """There was no answer. The message is the gateway's own, without anything that a receiver sent.

    ``hung``: the receiver let the attempt time out.
    """

    def __init__(self, message: str, *, hung: bool = False) -> None:
        super().__init__(message)
        self.hung = hung


class Answer:
    """The parts of an answer that are read."""

    def __init__(self, status: int, retry_after: timedelta | None) -> None:
        self.status = status
        self.retry_after = retry_after


class Poster:
    """Sends to the addresses that the rules allow.

    Each attempt has its own connection. A reused one would belong to an address, which two names may share.
    """

    def __init__(self, resolve: Resolve, networks: Sequence[Network]) -> None:
        """
        :raises OSError: ``SSL_CERT_FILE`` is no file of authorities. It counts only in ``networks``.
        """
        self._resolve = resolve
        self._networks = networks
        self._public = _client(httpx.create_ssl_context(trust_env=False))
        self._opened = _client(httpx.create_ssl_context()) if networks else self._public

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], now: datetime) -> Answer:
        """Make one attempt.

        :param now: what a date in ``Retry-After`` is compared with.
        :raises Unsent: there was no answer.
        """
        try:
            target = parse_url(url)
            addresses = checked_addresses(
                await self._resolve(target.host, target.port), self._networks, plain=target.plain
            )
        except NotResolved:
            raise Unsent("the name of the host has no address") from None
        except (AddressRefused, ValueError) as refused:
            raise Unsent(f"refused: {refused}") from None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._to_first(target, addresses[:MOST_ADDRESSES], body, headers, now)
        except (TimeoutError, httpx.TimeoutException):
            raise Unsent(f"no answer within {ANSWER_SECONDS:g} seconds", hung=True) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._public.aclose()
        await self._opened.aclose()

    async def _to_first(
        self,
        target: Target,
        addresses: Sequence[Address],
        body: bytes,
        headers: Mapping[str, str],
        now: datetime,
    ) -> Answer:
        """The answer of the first address that can be connected to."""
        for number, address in enumerate(addresses, start=1):
            try:
                return await self._to(target, address, body, headers, now)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if number == len(addresses):
                    raise Unsent(_in_words(error), hung=isinstance(error, httpx.ConnectTimeout)) from None
            except (httpx.TransportError, httpx.InvalidURL, OSError, ValueError) as error:
                if isinstance(error, httpx.TimeoutException):
                    raise
                raise Unsent(_in_words(error)) from None
        raise Unsent("the name of the host has no address")

    async def _to(
        self, target: Target, address: Address, body: bytes, headers: Mapping[str, str], now: datetime
    ) -> Answer:
        client = self._opened if is_allowed(address, self._networks) else self._public
        host = f"[{address}]" if isinstance(address, IPv6Address) else str(address)
        request = client.build_request(
            "POST",
            f"{target.scheme}://{host}:{target.port}{target.path}",
            content=body,
            headers={**_HEADERS, **headers, "Host": target.authority},
            # The host that the certificate must be for.
            extensions={"sni_hostname": target.host},
        )
        response = await client.send(request, stream=True)
        await response.aclose()  # the body is never read
        return Answer(response.status_code, _retry_after(response.headers, now))


def _client(context: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=context,
        trust_env=False,
        follow_redirects=False,
        # No cookies are stored: receivers at the same address would be sent each other's.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


def _in_words(error: Exception) -> str:
    """What happened, without messages of libraries: they may contain the URL or what was received."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {CONNECT_SECONDS:g} seconds"
    if isinstance(error, httpx.ConnectError):
        cause = error
        while (cause := cause.__cause__ or cause.__context__) is not None:  # type: ignore[assignment]
            if isinstance(cause, ssl.SSLCertVerificationError):
                return "the certificate is not accepted"
            if isinstance(cause, ssl.SSLError):
                return "no TLS connection"
        return "no connection"
    if isinstance(error, httpx.RemoteProtocolError):
        return "the answer is not HTTP"
    return "the connection was cut"


def _retry_after(headers: httpx.Headers, now: datetime) -> timedelta | None:
    """The wait that ``Retry-After`` requests, in seconds or by a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return timedelta(seconds=min(int(text[:10]), 10**9))
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):  # OverflowError: a year of twenty digits
        return None
    then = then.replace(tzinfo=UTC) if then.tzinfo is None else then
    return max(then - now, timedelta(0))
