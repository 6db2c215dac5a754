"""JSON-RPC over HTTP: several calls in one request, bounded in time and size."""

from __future__ import annotations

import logging
import math
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from email.utils import parsedate_to_datetime
from functools import lru_cache
from threading import Timer
from typing import Any, Final

import httpx
import orjson
from msgspec import Struct

from app.watcher.rpc.faults import (
    Garbled,
    NoConnection,
    RateLimited,
    RpcFault,
    Slow,
    TooLarge,
    Unreachable,
    fault_of,
    without_secrets,
)
from app.watcher.rpc.refusals import READ_CHARACTERS, Other, SomeLimit, refusal

KIB: Final = 1024
MIB: Final = 1024 * KIB

MAX_ANSWER_BYTES: Final = 8 * MIB
MAX_ERROR_BYTES: Final = 64 * KIB
"""Of an answer with a status other than 200. A longer one is a page for people."""

_LEAST: Final = 64 * KIB
_MOST: Final = {
    "eth_getLogs": MAX_ANSWER_BYTES,
    "eth_getBlockReceipts": MAX_ANSWER_BYTES,
    "eth_getBlockByNumber": 2 * MIB,  # with the hashes of 30,000 transactions
    "eth_getCode": MIB,
}

MAX_MEMORY: Final = 18 * MIB
"""That parsing an answer may take: three bytes, such as ``[],``, become ninety. It is enough for 6,000 logs,
or for the receipts of 1,000 transactions."""

_COSTS: Final = {b"{": 160, b"[": 76, b",": 88, b":": 48}
"""Bytes of memory at most for each of these: an object, an array, and their entries."""


def most_bytes(methods: Sequence[str]) -> int:
    """The longest allowed answer to these calls, in bytes."""
    return min(sum(_MOST.get(method, _LEAST) for method in methods), MAX_ANSWER_BYTES)


def memory_of(content: bytes | bytearray) -> int:
    """How many bytes of memory parsing this JSON takes at most. It is counted, not parsed."""
    wide = not content.isascii() or b"\\u" in content  # one such character makes all of its text as wide
    each = 2 + 4 * wide
    return each * len(content) + sum(cost * content.count(sign) for sign, cost in _COSTS.items())


class Deadline:
    """Ends the connection when a whole request takes too long, in any part of it.

    The library's own timeouts start again with each byte that comes.
    """

    def __init__(self) -> None:
        self._stream: Any = None
        self._until = 0.0

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self._until = time.monotonic() + seconds
        timer = Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def is_over(self) -> bool:
        """Whether the last request took too long."""
        return time.monotonic() >= self._until

    def note(self, name: str, info: dict[str, Any]) -> None:
        """The library's extension ``trace``: the connection that is used from now on."""
        if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]
            if self.is_over:
                self._cut()

    def _cut(self) -> None:
        with suppress(OSError, AttributeError):
            self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


def read(response: httpx.Response, most: int, check: Callable[[], None]) -> bytearray | None:
    """The body as it was sent; None where it is longer than ``most``.

    :param check: called with each part, raises where it took too long.
    """
    declared = response.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        return None
    content = bytearray()
    for part in response.iter_raw():
        check()
        if len(content) + len(part) > most:
            return None
        content += part
    check()  # cutting the connection ends a body without a length
    return content


CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
"""For one whole request. A node that needs longer for a range gets a request for a shorter one."""

MAX_RETRY_SECONDS: Final = 3600.0

_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    # Compressed, three kilobytes can be gigabytes.
    "Accept-Encoding": "identity",
}
_LOGS: Final = "eth_getLogs"
FIRST_ID: Final = 1
"""Of the calls in a request. Some gateways take 0 for none, and do not answer."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# Both write the address of each request into their logs, and it contains keys.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Call(Struct, frozen=True):
    method: str
    params: Sequence[Any] = ()


class Refused(Struct, frozen=True):
    """A node's error about one call. ``words`` are the node's own, without secrets."""

    code: int
    words: str


class Client:
    """Sends requests to one URL. The connection stays open between requests. Not to be shared by threads.

    :param monotonic: seconds that never go back.
    :param sleep: waits for so many seconds.
    :param transport: for tests, instead of the network.
    """

    def __init__(
        self,
        url: str,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._url = url
        self.monotonic = monotonic
        self.sleep = sleep
        self._seconds = seconds
        self.requests = 0
        """HTTP requests sent so far."""
        self._deadline = Deadline()
        self._http = httpx.Client(
            headers=_HEADERS,
            timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
            limits=httpx.Limits(max_connections=2, max_keepalive_connections=1, keepalive_expiry=300),
            # No proxies and no passwords from this machine's environment, and no redirects.
            trust_env=False,
            verify=_authorities(),
            follow_redirects=False,
            transport=transport,
        )

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """What the node answers to the calls, in their order: a result, or :class:`Refused`.

        :raises RateLimited: the node limits the rate of requests.
        :raises TooLarge: the node does not take so much at once, or its answer is too long.
        :raises Unreachable: there was no answer.
        :raises Garbled: the answer is not JSON-RPC.
        """
        requested = [
            {"jsonrpc": "2.0", "id": number, "method": call.method, "params": call.params}
            for number, call in enumerate(calls, FIRST_ID)
        ]
        single = len(requested) == 1
        answer = self._send(
            orjson.dumps(requested[0] if single else requested), [call.method for call in calls]
        )
        if isinstance(answer, dict):
            if not single:
                raise self._fault_of_all(answer)
            answer = [answer]
        if not isinstance(answer, list):
            raise Garbled("its answer is not JSON-RPC")
        return self._in_order(answer, len(requested))

    def close(self) -> None:
        self._http.close()

    def say(self, words: object) -> str:
        """Words of the node, without secrets."""
        return without_secrets(str(words), self._url)

    def _send(self, body: bytes, methods: Sequence[str]) -> Any:
        self.requests += 1
        deadline = self.monotonic() + self._seconds

        def check() -> None:
            if self.monotonic() > deadline:
                raise Slow(f"no complete answer within {self._seconds:g} seconds")

        try:
            with (
                self._deadline.within(self._seconds),
                self._http.stream(
                    "POST", self._url, content=body, extensions={"trace": self._deadline.note}
                ) as response,
            ):
                content = self._read(response, methods, check)
        except httpx.TimeoutException:
            raise Slow(f"no answer within {self._seconds:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            if self._deadline.is_over:
                raise Slow(f"no complete answer within {self._seconds:g} seconds") from None
            raise _without_answer(error) from None
        if response.is_success:
            return self._parse(content, methods)
        return self._error_of(response, content, methods)

    def _read(self, response: httpx.Response, methods: Sequence[str], check: Callable[[], None]) -> bytearray:
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):
            raise Garbled("its answer is compressed, although it was requested as it is")
        if not response.is_success:
            return read(response, MAX_ERROR_BYTES, check) or bytearray()
        content = read(response, most := most_bytes(methods), check)
        if content is None:
            raise _too_large(methods, f"is larger than {most // KIB} KiB")
        return content

    def _parse(self, content: bytearray, methods: Sequence[str]) -> Any:
        if memory_of(content) > MAX_MEMORY:
            raise _too_large(methods, "has too many values")
        try:
            return orjson.loads(content.removeprefix(_BYTE_ORDER_MARK))
        except orjson.JSONDecodeError:
            words = self.say(_error_in(content))
            fault = fault_of(words, None) if words else Garbled("its answer is not JSON")
            fault.state = Unreachable.state  # something before the node wrote it
            raise fault from None

    def _error_of(self, response: httpx.Response, content: bytearray, methods: Sequence[str]) -> Any:
        """The JSON-RPC error of a single call, which some nodes send with a status other than 200.

        :raises RpcFault: for any other answer with such a status.
        """
        status = response.status_code
        error = _error_in(content)
        refused = self._refused(error)
        single = methods[0] if len(methods) == 1 else ""
        fault = fault_of(refused.words, refused.code, status, single)
        may_wait = isinstance(fault, RateLimited) or status == 503
        if status == 429 or (may_wait and "retry-after" in response.headers):
            raise RateLimited(str(fault), _retry_after(response.headers))
        if single and isinstance(error, dict) and refusal(refused.words, refused.code) != Other():
            return {"id": FIRST_ID, "error": error}
        raise fault

    def _fault_of_all(self, answer: dict[str, Any]) -> RpcFault:
        error = _error_of_call(answer)
        if error is None:
            return Garbled("it answered several calls with one answer")
        refused = self._refused(error)
        return fault_of(refused.words, refused.code)

    def _in_order(self, answer: list[Any], count: int) -> list[Any]:
        if len(answer) == 1 < count and isinstance(answer[0], dict):
            raise self._fault_of_all(answer[0])
        found: dict[int, Any] = {}
        for part in answer:
            if not isinstance(part, dict):
                raise Garbled("its answer is not JSON-RPC")
            number, error = part.get("id"), _error_of_call(part)
            if error or (error is not None and "result" not in part):
                found[self._place(number, count)] = self._refused(error)
            elif "result" in part:
                found[self._place(number, count)] = part["result"]
        if len(found) != count:
            raise Garbled(f"it answered {len(found)} of {count} calls")
        return [found[place] for place in range(count)]

    def _place(self, number: Any, count: int) -> int:
        if count == 1 and number is None:  # some nodes leave it out of errors
            return 0
        if isinstance(number, str) and number.isdecimal() and len(number) < 4:
            number = int(number)
        if type(number) is not int or not 0 <= number - FIRST_ID < count:
            raise Garbled("it answered a call that was not sent")
        return number - FIRST_ID

    def _refused(self, error: Any) -> Refused:
        if not isinstance(error, dict):
            return Refused(0, self.say(error or ""))
        code, words, data = error.get("code"), str(error.get("message", "")), error.get("data")
        code = code if type(code) is int else 0
        if isinstance(data, str):
            words = f"{words}: {data}"
        elif data and isinstance(refusal(words, code), Other | SomeLimit):  # some say it there only
            words = f"{words}: {orjson.dumps(data)[:READ_CHARACTERS].decode(errors='ignore')}"
        return Refused(code, self.say(words))


def _error_in(content: bytearray) -> Any:
    """The error in an answer that is none: of JSON-RPC, or in another shape, or words of a program."""
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        words = content[:READ_CHARACTERS].decode(errors="ignore")
        return "" if set("<{[") & set(words) else words  # a page for people, or a part of an answer
    if isinstance(answer, list) and answer:
        answer = answer[0]
    return _error_of_call(answer) if isinstance(answer, dict) else None


def _error_of_call(answer: dict[str, Any]) -> Any:
    """The error in the answer to a call. Gateways before nodes write it in their own shapes."""
    error, message = answer.get("error"), answer.get("message")
    if "result" in answer or isinstance(error, dict) or not isinstance(message, str):
        return error
    return answer | {"message": f"{error}: {message}" if isinstance(error, str) else message}


def _too_large(methods: Sequence[str], what: str) -> RpcFault:
    """The fault of a long answer: logs allow a shorter range, headers fewer of them; others should not be
    long.
    """
    words = f"its answer {what}"
    return TooLarge(words) if _LOGS in methods or len(methods) > 1 else Garbled(words)


@lru_cache(maxsize=1)
def _authorities() -> ssl.SSLContext:
    """The authorities for certificates of nodes. Loaded once: it takes 20 ms and nearly a megabyte."""
    return httpx.create_ssl_context(trust_env=False)


def _without_answer(error: Exception) -> RpcFault:
    """What happened, without the texts of libraries: some of them repeat the URL."""
    if isinstance(error, httpx.ConnectError):
        return NoConnection("no connection")
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return NoConnection("its URL must begin with http or https")
    return Unreachable("the connection was cut")


def _retry_after(headers: httpx.Headers) -> float | None:
    """The seconds in ``Retry-After``: a number, or a time compared with the answer's own ``Date``."""
    text = headers.get("retry-after", "").strip()
    try:
        if text.replace(".", "", 1).isdecimal():
            seconds = float(text)
        else:
            then, now = parsedate_to_datetime(text), parsedate_to_datetime(headers["date"])
            seconds = (then - now).total_seconds()
    except (ValueError, TypeError, KeyError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_SECONDS) if math.isfinite(seconds) else None
