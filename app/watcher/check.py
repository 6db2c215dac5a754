"""Checks by requests what a node can do for a chain, for those who configure one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from app.network.watch_terms import FINALIZED, WatchTerms
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber
from app.watcher.blocks import Header
from app.watcher.logs.contracts import TOPICS
from app.watcher.loop.fetch import fetch, first_part
from app.watcher.loop.proof import holds
from app.watcher.loop.view import Blocks
from app.watcher.loop.watcher import make_nodes
from app.watcher.rpc.faults import NotThere, RpcFault
from app.watcher.rpc.node import MOST_BLOCKS, Node, Wanted
from app.watcher.services.chains import DatedMiss

TRUSTED_AFTER: Final = timedelta(days=7)
"""Without another difference a URL that returned wrong logs passes the check again."""


class Finding(Struct, frozen=True):
    """One result of the check.

    :param good: False where the chain cannot be watched by this URL, or not at all.
    """

    words: str
    good: bool = True


class Checked(Struct, frozen=True):
    """The results for a chain, and for each of its URLs by name."""

    terms: WatchTerms
    chain: Sequence[Finding]
    urls: Mapping[str, Sequence[Finding]]

    @property
    def good(self) -> bool:
        """Whether the chain can be watched: nothing is missing, and one URL can do everything."""
        usable = any(all(finding.good for finding in found) for found in self.urls.values())
        return usable and all(finding.good for finding in self.chain)


def check_chain(
    terms: WatchTerms,
    rpc_urls: Mapping[str, str],
    now: datetime,
    monotonic: Callable[[], float],
    misses: Sequence[DatedMiss] = (),
) -> Checked:
    """Check every URL of a chain. Takes a second or two for each.

    :param misses: what its URLs had wrong, the newest first.
    """
    nodes = make_nodes(terms, rpc_urls, monotonic)
    urls: dict[str, list[Finding]] = {}
    try:
        for name in terms.rpc:
            node = nodes.named(name)
            urls[name] = (
                [Finding("not set in this environment", good=False)]
                if node is None
                else _guarded(node, terms, now, monotonic)
            )
            urls[name] += _wrong(name, misses, now)
    finally:
        nodes.close()
    return Checked(terms, list(_of_chain(terms)), urls)


def _of_chain(terms: WatchTerms) -> Iterator[Finding]:
    if not terms.rpc:
        yield Finding(
            "no URL: list variable names in the rpc of the chain, and set the variables", good=False
        )
    if not terms.contracts:
        yield Finding("no contract: configure a pool bridge, a vault or a pegged bridge", good=False)
    if len(terms.rpc) == 1:
        yield Finding("only one URL: its logs are proven by headers and receipts, if it serves them")


def _wrong(name: str, misses: Sequence[DatedMiss], now: datetime) -> Iterator[Finding]:
    """What the URL had wrong lately. Only the newest is shown."""
    for miss in (miss for miss in misses if miss.missed.source == name and now - miss.at < TRUSTED_AFTER):
        at, missed = miss.at.isoformat(timespec="seconds"), miss.missed
        yield Finding(
            f"returned wrong logs: of blocks {missed.first} to {missed.last}, {missed.missing} were missing "
            f"and {missed.surplus} false (corrected at {at}). Replace it",
            good=False,
        )
        return


def _guarded(node: Node, terms: WatchTerms, now: datetime, monotonic: Callable[[], float]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(_of_node(node, terms, now, monotonic))
    except RpcFault as fault:
        found.append(Finding(str(fault), good=False))
    return found


def _of_node(
    node: Node, terms: WatchTerms, now: datetime, monotonic: Callable[[], float]
) -> Iterator[Finding]:
    started = monotonic()
    look = node.look(None, finalized=terms.finality == FINALIZED)
    spent = round((monotonic() - started) * 1000)
    head = look.head
    age = round((now - head.at).total_seconds())
    batches = "accepts batches" if node.takes_batches else "no batches: more requests per poll"
    yield Finding(f"reachable in {spent} ms, chain id {terms.chain_id}, {batches}")
    yield Finding(f"newest block {head.number}, {age} seconds old")
    if terms.finality == FINALIZED:
        yield (
            Finding("no finalized block: set finality to a number of blocks", good=False)
            if look.final is None
            else Finding(f"finalized up to block {look.final}")
        )
    yield from _contracts(node, terms)
    wanted = Wanted(tuple(sorted(terms.contracts)), tuple(TOPICS))
    if not wanted.addresses:
        return
    if terms.from_block > head.number:
        yield Finding(f"watch_from_block {terms.from_block} does not exist yet: reading starts when it does")
        return
    yield _archive(node, wanted, terms.from_block, head.number)
    yield _range(node, wanted, terms.from_block, head.number)
    yield _receipts(node, wanted, head)


def _contracts(node: Node, terms: WatchTerms) -> Iterator[Finding]:
    without = [address for address in sorted(terms.contracts) if not node.code(address)]
    for address in without:
        yield Finding(f"{checksum_address(address)} has no code on this chain", good=False)
    if terms.contracts and not without:
        yield Finding(f"all {len(terms.contracts)} contracts have code")


def _archive(node: Node, wanted: Wanted, first: BlockNumber, head: BlockNumber) -> Finding:
    """How far back the node returns logs. A node that stores fewer blocks has the newest ones, so bisection
    finds it.
    """
    if _returns_logs(node, wanted, first):
        return Finding(f"has logs back to watch_from_block {first}")
    low, high = first, head
    while high - low > 1:
        halfway = BlockNumber((low + high) // 2)
        low, high = (low, halfway) if _returns_logs(node, wanted, halfway) else (halfway, high)
    return Finding(f"has logs back to block {high} only, but watch_from_block is {first}", good=False)


def _returns_logs(node: Node, wanted: Wanted, block: BlockNumber) -> bool:
    try:
        node.logs(wanted, block, block)
    except NotThere:
        return False
    return True


def _range(node: Node, wanted: Wanted, first: BlockNumber, head: BlockNumber) -> Finding:
    blocks = Blocks(BlockNumber(max(first, head - MOST_BLOCKS + 1)), head)
    node.blocks.now = MOST_BLOCKS
    answer = first_part(node, blocks, lambda part: fetch(node, wanted, part))
    more = " and more" if len(answer.blocks) == len(blocks) else ""
    return Finding(f"accepts ranges of {len(answer.blocks)} blocks{more}")


def _receipts(node: Node, wanted: Wanted, head: Header) -> Finding:
    """Whether the node can prove blocks. Not tried on the newest block, which may be replaced."""
    try:
        below = node.headers([BlockNumber(max(head.number - 1, 0))])
        header = next(iter(below.values()))
        logs = node.logs(wanted, header.number, header.number).logs
        if holds(node, header, sorted(logs, key=lambda log: log.index), wanted):
            return Finding("receipts match the headers: one URL is enough to prove blocks")
    except RpcFault:
        return Finding("no receipts: blocks can only be proven with a second URL")
    return Finding("receipts do not match the headers: blocks can only be proven with a second URL")
