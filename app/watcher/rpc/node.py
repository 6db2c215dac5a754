"""One node: what is requested of it, in as few requests as it allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from app.values.contract_calls import call_data
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rpc.answers import SHAPELESS, is_pending, quantity, read_header, read_log
from app.watcher.rpc.client import Call, Client, Refused
from app.watcher.rpc.faults import (
    FaultyAnswer,
    Garbled,
    Incomplete,
    NoConnection,
    NotThere,
    RateLimited,
    RpcFault,
    Slow,
    TooLarge,
    Unreachable,
    WrongChain,
    fault_of,
    not_offered,
)
from app.watcher.rpc.sizes import Size, in_pieces
from app.watcher.rules.blocks import Header, Log

MOST_CALLS: Final = 100  # in one request
FIRST_BLOCKS: Final = 256
MOST_BLOCKS: Final = 100_000
"""In a range: at first, and at most."""

MOST_CONTRACTS: Final = 1000  # in a filter

FIRST_SPACE: Final = 0.25
LONGEST_SPACE: Final = 4.0
"""Seconds between two requests to a node that limits their rate. They double each time it does."""

EASED: Final = 0.97
"""What is left of them after a good answer."""

_LOGS: Final = "eth_getLogs"
_WORD_OF_ADDRESS: Final = re.compile("0x0{24}([0-9a-fA-F]{40})")
_HEADER: Final = "eth_getBlockByNumber"


class Wanted(Struct, frozen=True):
    """Which logs are read: of these contracts, with one of these first topics."""

    addresses: tuple[bytes, ...]
    topics: tuple[bytes, ...]

    def covers(self, log: Log) -> bool:
        return log.address in self.addresses and bool(log.topics) and log.topics[0] in self.topics

    def filter(self, first: BlockNumber, last: BlockNumber) -> dict[str, Any]:
        """The filter of ``eth_getLogs``; both ends are included."""
        return {
            "fromBlock": hex(first),
            "toBlock": hex(last),
            "address": [f"0x{address.hex()}" for address in self.addresses],
            "topics": [[f"0x{topic.hex()}" for topic in self.topics]],
        }


class Look(Struct, frozen=True):
    """What a node returns about the newest blocks, in one request.

    :param last: the header at the requested number, None where the node has none.
    :param final: the newest block that the node calls finalized; None where that was not requested, or the
        node has none.
    """

    head: Header
    last: Header | None = None
    final: BlockNumber | None = None


class RangeAnswer(Struct, frozen=True):
    """The logs of a range as the node returned them, and the headers at its ends, in one request.

    :param end: of its last block.
    :param before: of the block before its first; None where that was not requested.
    :param between: of its other blocks, where these were requested.
    """

    logs: Sequence[Log]
    end: Header
    before: Header | None
    between: Sequence[Header] = ()


class Node:
    """One URL of one chain, by the name of its variable.

    ``voice`` is the name of its provider's first URL. ``calls`` counts the calls of a batch, ``blocks`` those
    of a range of logs (``app.watcher.loop.fetch``), ``contracts`` those in the filter of a single block.
    ``checked``: it returned the right chain id since it last failed. ``one_by_one``: it returns receipts of
    single transactions only.
    """

    def __init__(self, name: str, chain_id: ChainId, client: Client) -> None:
        self.name = self.voice = name
        self.client = client
        self._chain_id = chain_id
        self.calls = Size(MOST_CALLS, MOST_CALLS)
        self.blocks = Size(FIRST_BLOCKS, MOST_BLOCKS)
        self.contracts = Size(MOST_CONTRACTS, MOST_CONTRACTS)
        self._space = 0.0
        self._free_at = 0.0
        self.checked = False
        self.one_by_one = False

    @property
    def takes_batches(self) -> bool:
        return self.calls.now > 1

    def look(self, last: BlockNumber | None, *, finalized: bool) -> Look:
        """The newest header, that of the last block read, and the finalized one where requested.

        :raises FaultyAnswer: the node belongs to another chain.
        """
        chain = [Call("eth_chainId")] if self.takes_batches or not self.checked else []
        calls = [*chain, header_call("latest")]
        calls += [] if last is None else [header_call(last)]
        calls += [header_call("finalized")] if finalized else []
        answers = iter(self.request(calls))
        if chain:
            self._check_chain(next(answers))
        head = _present(next(answers), "its newest block")
        at_last = None if last is None else _maybe_header(next(answers), last)
        return Look(head, at_last, _final(next(answers)) if finalized else None)

    def check_chain(self) -> None:
        """:raises FaultyAnswer: the node belongs to another chain."""
        self._check_chain(self.request([Call("eth_chainId")])[0])

    def logs(
        self,
        wanted: Wanted,
        first: BlockNumber,
        last: BlockNumber,
        before: BlockNumber | None = None,
        *,
        linked: bool = False,
    ) -> RangeAnswer:
        """The logs of a range, then the headers at its ends.

        The headers are requested after the logs, so a change of the chain between both shows in them.

        :param before: the block whose header is also requested, usually the one before the range.
        :param linked: request the header of every block.
        """
        between = [BlockNumber(number) for number in range(first, last)] if linked else []
        numbers = [last, *([] if before is None else [before]), *between]

        def question(at: int, many: int) -> tuple[list[Log], dict[BlockNumber, Header]]:
            part = Wanted(wanted.addresses[at : at + many], wanted.topics)
            return self._logs_and_headers(part, first, last, numbers)

        count = max(1, len(wanted.addresses))
        answers = (
            list(in_pieces(self.contracts, count, question, self.client.monotonic))
            if first == last  # of more blocks, fewer are tried first
            else [question(at, self.contracts.now) for at in range(0, count, self.contracts.now)]
        )
        headers = answers[-1][1]
        return RangeAnswer(
            [log for logs, _ in answers for log in logs],
            headers[last],
            None if before is None else headers[before],
            [headers[number] for number in between],
        )

    def _logs_and_headers(
        self, wanted: Wanted, first: BlockNumber, last: BlockNumber, numbers: Sequence[BlockNumber]
    ) -> tuple[list[Log], dict[BlockNumber, Header]]:
        filters = [Call(_LOGS, [wanted.filter(first, last)])] if wanted.addresses else []
        answers = self.request([*filters, *map(header_call, numbers)])
        if first == last and len(wanted.addresses) == 1:
            _check_offered(answers[0], answers[1:])
        logs = _logs(answers[0]) if filters else []
        return logs, {
            number: _present(answer, f"block {number}", number)
            for number, answer in zip(numbers, answers[len(filters) :], strict=True)
        }

    def headers(self, numbers: Iterable[BlockNumber], *, verified: bool = False) -> dict[BlockNumber, Header]:
        """The headers of some blocks; ``verified`` as in :func:`read_header`.

        :raises NotThere: the node does not have all of them.
        """
        wanted = list(numbers)
        answers = self.request([header_call(number) for number in wanted])
        return {
            number: _present(answer, f"block {number}", number, verified=verified)
            for number, answer in zip(wanted, answers, strict=True)
        }

    def known_headers(self, numbers: Iterable[BlockNumber]) -> dict[BlockNumber, Header]:
        """The headers of those blocks that the node has."""
        wanted = list(numbers)
        answers = self.request([header_call(number) for number in wanted]) if wanted else []
        found = (_maybe_header(answer, number) for number, answer in zip(wanted, answers, strict=True))
        return {header.number: header for header in found if header is not None}

    def header(self, number: BlockNumber) -> Header | None:
        """The verified header of a block; None if the node has none."""
        return _maybe_header(self.request([header_call(number)])[0], number, verified=True)

    def every_log(self, block: BlockNumber) -> list[Log]:
        """The logs of a block, of any contract."""
        wanted = {"fromBlock": hex(block), "toBlock": hex(block)}
        return _logs(self.request([Call(_LOGS, [wanted])])[0])

    def code(self, address: bytes, block: BlockNumber | None = None) -> bytes:
        """A contract's code, empty where there is none.

        :param block: the code at this block; None for now.
        """
        at = "latest" if block is None else hex(block)
        answer = value_of(self.request([Call("eth_getCode", [f"0x{address.hex()}", at])])[0])
        try:
            return bytes.fromhex(answer[2:])
        except (TypeError, ValueError):
            raise Garbled("its answer is not contract code") from None

    def native_wrap(self, contract: bytes) -> bytes:
        """The token that a contract wraps native coin as; the zero address where it takes none.

        :raises RpcFault: the contract has no such function, or the node refused the call.
        """
        call = {"to": f"0x{contract.hex()}", "data": call_data("nativeWrap()")}
        answer = value_of(self.request([Call("eth_call", [call, "latest"])])[0])
        match = _WORD_OF_ADDRESS.fullmatch(answer) if isinstance(answer, str) else None
        if match is None:
            raise Garbled("its answer is not an address")
        return bytes.fromhex(match[1])

    def request(self, calls: Sequence[Call]) -> list[Any]:
        """Send the calls in as few requests as the node takes."""

        def question(first: int, many: int) -> list[Any]:
            return self._batch(calls[first : first + many])

        parts = in_pieces(self.calls, len(calls), question, self.client.monotonic)
        return [answer for part in parts for answer in part]

    def _batch(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to one request.

        :raises RpcFault: also where only some calls failed, and one of them does not when it is sent alone.
        """
        if len(calls) == 1:
            return self._sent(calls)
        try:
            answers = self._sent(calls)
        except NoConnection:
            raise
        except RateLimited as fault:
            fault.may_be_size = True
            raise
        except RpcFault as fault:  # which of the calls it is about is not known
            raise Unreachable(str(fault)) from None
        for call, answer in zip(calls, answers, strict=True):
            if _may_be_batch(call, answer):
                if not isinstance(self._spaced([call])[0], Refused):
                    raise TooLarge("it takes fewer calls at once")
                break
        return answers

    def _sent(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to one request, which is sent a second time where it fails for no clear reason."""
        try:
            answers = self._spaced(calls)
            if not any(map(_may_come, calls, answers)):
                return answers
        except RpcFault as fault:
            if not _is_unclear(fault):
                raise
        return self._spaced(calls)

    def _spaced(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to one request, which is not sent too soon after the last one.

        Otherwise a node that allows one request a second would never answer the second one of a poll.
        """
        if (wait := self._free_at - self.client.monotonic()) > 0:
            self.client.sleep(wait)
        limited = False
        try:
            answers = self.client.request(calls)
            limited = any(isinstance(_fault_in(answer), RateLimited) for answer in answers)
        except RateLimited:
            limited = True
            raise
        finally:
            longer = min(max(self._space * 2, FIRST_SPACE), LONGEST_SPACE)
            self._space = longer if limited else self._space * EASED
            self._free_at = self.client.monotonic() + self._space
        return answers

    def _check_chain(self, answer: Any) -> None:
        found = quantity(value_of(answer))
        if found != self._chain_id:
            self.checked = False
            raise WrongChain(f"it is a node of chain {found}, not of {self._chain_id}")
        self.checked = True


def header_call(block: BlockNumber | str) -> Call:
    return Call(_HEADER, [block if isinstance(block, str) else hex(block), False])


def _fault_in(answer: Any, method: str = "") -> RpcFault | None:
    return fault_of(answer.words, answer.code, method=method) if isinstance(answer, Refused) else None


def _may_come(call: Call, answer: Any) -> bool:
    """Whether the answer to a call may be another when it is sent again: from another node behind the URL."""
    fault = _fault_in(answer)
    if call.method != _HEADER or call.params[0] == "finalized":
        return _is_unclear(fault)
    return answer is None or isinstance(fault, NotThere) or _is_unclear(fault)


def _is_unclear(fault: RpcFault | None) -> bool:
    """Whether the same request may well succeed now."""
    return isinstance(fault, Unreachable | Garbled) and not isinstance(fault, NoConnection | Slow)


def _may_be_batch(call: Call, answer: Any) -> bool:
    """Whether a call may have been refused for the number of calls that it came with."""
    match _fault_in(answer):
        case TooLarge():
            return call.method != _LOGS
        case Unreachable() | RateLimited():
            return True
    return False


def value_of(answer: Any, method: str = "") -> Any:
    """:raises RpcFault: the call was refused."""
    if (fault := _fault_in(answer, method)) is not None:
        raise fault
    return answer


def _check_offered(logs: Any, headers: Sequence[Any]) -> None:
    """Check the answers about one contract in one block: no smaller request is possible.

    :raises NotOffered: the node names a limit without saying which, and yet returned the headers. Some say
        this where logs are switched off.
    """
    fault = _fault_in(logs)
    if isinstance(fault, RateLimited) and fault.may_be_size and not any(map(_fault_in, headers)):
        raise not_offered(_LOGS, str(fault))


def _maybe_header(answer: Any, number: BlockNumber | None, *, verified: bool = False) -> Header | None:
    try:
        raw = value_of(answer)
    except NotThere:
        return None
    if raw is None:
        return None
    header = read_header(raw, verified=verified)
    if number is not None and header.number != number:
        raise FaultyAnswer(f"it returned block {header.number} instead of block {number}")
    return header


def _final(answer: Any) -> BlockNumber | None:
    """The number of the finalized block; None where the node has none or does not say it."""
    try:
        return BlockNumber(quantity(value_of(answer)["number"]))
    except (RpcFault, *SHAPELESS):
        return None


def _present(answer: Any, what: str, number: BlockNumber | None = None, *, verified: bool = False) -> Header:
    header = _maybe_header(answer, number, verified=verified)
    if header is None:
        raise Incomplete(f"it does not have {what}")
    return header


def _logs(answer: Any) -> list[Log]:
    raw = value_of(answer, _LOGS)
    if raw is None:  # some nodes return it for no logs
        return []
    if not isinstance(raw, list):
        raise Garbled("its answer is not a list of logs")
    return [read_log(log) for log in raw if not is_pending(log)]
