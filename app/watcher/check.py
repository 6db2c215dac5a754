"""Tries at each URL of a chain what a watcher will do, for those who configure one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from app.network.rules.watch_terms import FINALIZED, WatchTerms
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber
from app.watcher.loop.fetch import fetch, in_parts
from app.watcher.loop.view import Blocks
from app.watcher.rpc.faults import FaultyAnswer, NotThere, RpcFault
from app.watcher.rpc.node import FIRST_BLOCKS, MOST_BLOCKS, MOST_CALLS, Node, RangeAnswer, Wanted
from app.watcher.rpc.nodes import make_nodes
from app.watcher.rpc.receipts import Listed, listed, receipts_of_block
from app.watcher.rules.blocks import Header, ImpossibleAnswer, check_parents
from app.watcher.rules.logs.contracts import TOPICS
from app.watcher.rules.proofs import Receipt, match
from app.watcher.rules.watched import DisputedLog
from app.watcher.services.chains import DatedMiss, WatchDetails

TRUSTED_AFTER: Final = timedelta(days=7)
"""After this time without another one a URL that returned false logs passes again, and one that left out logs
counts as complete."""

CONFIRMED_AFTER: Final = timedelta(days=1)
"""Without another one a URL that returned something else that cannot be true passes the check again."""

TRIED_RECEIPTS: Final = 3
"""Blocks whose receipts are requested: those of single ones never match on some chains."""


class Finding(Struct, frozen=True):
    """One result of the check.

    :param good: False where the chain cannot be watched by this URL, or not at all.
    :param proves: False where the URL cannot prove blocks by itself.
    :param complete: False where the URL left out logs, or where it is not decided which logs the chain has.
    """

    words: str
    good: bool = True
    proves: bool = True
    complete: bool = True


class Checked(Struct, frozen=True):
    """The results by URL, and those of the chain."""

    terms: WatchTerms
    chain: Sequence[Finding]
    urls: Mapping[str, Sequence[Finding]]

    @property
    def good(self) -> bool:
        """Whether nothing is missing, and one URL can do everything."""
        usable = any(all(finding.good for finding in found) for found in self.urls.values())
        return usable and all(finding.good for finding in self.chain)


def check_chain(
    terms: WatchTerms,
    rpc_urls: Mapping[str, str],
    now: datetime,
    monotonic: Callable[[], float],
    known: WatchDetails | None = None,
) -> Checked:
    """Check every URL of a chain. Takes a second or two for each.

    :param known: what the watcher has found wrong with its URLs.
    """
    nodes = make_nodes(terms, rpc_urls, monotonic)
    urls: dict[str, list[Finding]] = {}
    try:
        for name in terms.rpc:
            node = nodes.named(name)
            urls[name] = (
                [Finding("not set in this environment: set it to the URL of a node", good=False)]
                if node is None
                else _guarded(node, terms, now, monotonic)
            )
            urls[name] += () if known is None else _wrong(name, known, now)
    finally:
        nodes.close()
    voices = [nodes.voice(name) for name in terms.rpc if nodes.named(name) is not None]
    disputed = () if known is None else known.disputed
    return Checked(terms, list(_of_chain(terms, voices, disputed)), urls)


def _of_chain(terms: WatchTerms, voices: Sequence[str], disputed: Sequence[DisputedLog]) -> Iterator[Finding]:
    """Findings that are about no single URL.

    :param voices: of each URL that is set.
    """
    if not terms.rpc:
        yield Finding(
            "no URL: list variable names in the rpc of the chain, and set the variables", good=False
        )
    if not terms.contracts:
        yield Finding("no contract: configure a pool bridge, a vault or a pegged bridge", good=False)
    if len(terms.rpc) == 1 and voices:
        yield Finding("only one URL: its logs are proven by headers and receipts, if it serves them")
    elif len(voices) > 1 and len(set(voices)) == 1:
        words = "all URLs are of one provider: its logs are proven by headers and receipts, if it serves them"
        yield Finding(words)
    for log in disputed:
        yield Finding(
            f"{log.words}. Neither is blamed: add a URL of another provider to decide it", complete=False
        )


def _wrong(name: str, known: WatchDetails, now: datetime) -> Iterator[Finding]:
    """What the URL had wrong lately. Of its logs only the newest is shown: a false one, else one left out."""
    for false in known.false_answers:
        if false.source == name and now - false.at < CONFIRMED_AFTER:
            at = false.at.isoformat(timespec="seconds")
            yield Finding(f"the watcher found at {at}: {false.words}. Replace it", good=False)
    lately = [each for each in known.misses if each.missed.source == name and now - each.at < TRUSTED_AFTER]
    false_logs = next((each for each in lately if each.missed.surplus and not each.disputed), None)
    left_out = next((each for each in lately if each.missed.missing), None)
    if false_logs is not None:
        number, where = false_logs.missed.surplus, _where(false_logs)
        yield Finding(
            f"returned {number} false logs of {where}, which were taken back. Replace it", good=False
        )
    elif left_out is not None:
        number, where = left_out.missed.missing, _where(left_out)
        words = (
            f"incomplete: left out {number} logs of {where}, which were added. Replace it if it does so again"
        )
        yield Finding(words, complete=False)


def _where(miss: DatedMiss) -> str:
    at = miss.at.isoformat(timespec="seconds")
    return f"blocks {miss.missed.first} to {miss.missed.last} (found at {at})"


def verdict(found: Sequence[Finding]) -> str:
    if not all(finding.good for finding in found):
        return "cannot be used: see FAIL"
    if not all(finding.complete for finding in found):
        return "reads everything now, but left out logs lately: see note"
    if all(finding.proves for finding in found):
        return "reads everything and proves it"
    return "reads everything, and proves nothing by itself: add a URL of another provider"


def _guarded(node: Node, terms: WatchTerms, now: datetime, monotonic: Callable[[], float]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(_of_node(node, terms, now, monotonic))
    except RpcFault as fault:
        found.append(Finding(_with_remedy(fault), good=False))
    return found


def _of_node(
    node: Node, terms: WatchTerms, now: datetime, monotonic: Callable[[], float]
) -> Iterator[Finding]:
    started = monotonic()
    look = node.look(None, finalized=terms.finality == FINALIZED)
    spent = round((monotonic() - started) * 1000)
    head = look.head
    age = round((now - head.at).total_seconds())
    yield Finding(f"reachable in {spent} ms, chain id {terms.chain_id}")
    yield Finding(f"newest block {head.number}, {age} seconds old")
    if terms.finality == FINALIZED:
        yield (
            Finding("no finalized block: set finality to a number of blocks", good=False)
            if look.final is None
            else Finding(f"finalized up to block {look.final}")
        )
    yield from _contracts(node, terms)
    yield from _native_coin(node, terms)
    wanted = Wanted(tuple(sorted(terms.contracts)), tuple(TOPICS))
    if not wanted.addresses:
        return
    if terms.from_block > head.number:
        yield Finding(f"watch_from_block {terms.from_block} does not exist yet: reading starts when it does")
        return
    yield from _tried("logs", _archive, node, wanted, terms.from_block, head.number)
    yield from _tried("a range of logs", _range, node, wanted, terms.from_block, head.number)
    yield from _newest(node, head)


def _tried(what: str, finding: Callable[..., Finding], *arguments: object) -> Iterator[Finding]:
    """One try. Its fault is a finding, and what follows is tried all the same."""
    try:
        yield finding(*arguments)
    except RpcFault as fault:
        yield Finding(f"{what}: {_with_remedy(fault)}", good=False)


def _with_remedy(fault: RpcFault) -> str:
    return f"{fault.words}: {fault.remedy}" if fault.remedy else fault.words


def _contracts(node: Node, terms: WatchTerms) -> Iterator[Finding]:
    without = [address for address in sorted(terms.contracts) if not node.code(address)]
    for address in without:
        yield Finding(
            f"{checksum_address(address)} has no code on this chain: correct the address", good=False
        )
    if terms.contracts and not without:
        yield Finding(f"all {len(terms.contracts)} contracts have code")


def _native_coin(node: Node, terms: WatchTerms) -> Iterator[Finding]:
    """Whether the contracts that take native coin wrap it as the configured token. A transaction that the
    gateway gives would send another token otherwise.
    """
    configured = terms.native_wrap
    if configured is None:
        return
    takers = sorted(terms.vaults | ({terms.pool_bridge} if terms.pool_bridge else set()))
    matching = 0
    for contract in takers:
        text = checksum_address(contract)
        try:
            wrapped = node.native_wrap(contract)
        except RpcFault as fault:
            yield Finding(f"nativeWrap() of {text}: {_with_remedy(fault)}", good=False)
            continue
        matching += wrapped == configured
        if not any(wrapped):
            yield Finding(f"{text} takes no native coin: it refuses transactions of native coin")
        elif wrapped != configured:
            words = f"{text} wraps native coin as {checksum_address(wrapped)}"
            other = f"native_wrap is {checksum_address(configured)}: correct native_wrap"
            yield Finding(f"{words}, but {other}", good=False)
    if matching:
        yield Finding(f"native_wrap is what {matching} of {len(takers)} contracts wrap native coin as")


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
    words = f"has logs back to block {high} only, but watch_from_block is {first}"
    return Finding(f"{words}: use a URL of a node that stores older blocks", good=False)


def _returns_logs(node: Node, wanted: Wanted, block: BlockNumber) -> bool:
    try:
        node.logs(wanted, block, block)
    except NotThere:
        return False
    return True


def _range(node: Node, wanted: Wanted, first: BlockNumber, head: BlockNumber) -> Finding:
    """The longest range that the node answers, as the watcher finds it."""
    blocks = Blocks(BlockNumber(max(first, head - MOST_BLOCKS + 1)), head)
    node.blocks.now = len(blocks)
    answered = 1

    def question(part: Blocks) -> RangeAnswer:
        nonlocal answered
        answer = node.logs(wanted, part.first, part.last)
        answered = max(answered, len(part))
        return answer

    for _ in in_parts(node, blocks, question):
        if answered > 1 or node.blocks.now == 1:
            break
    more = " and more" if answered == len(blocks) else ""
    return Finding(f"accepts ranges of {answered} blocks{more}")


def _newest(node: Node, head: Header) -> Iterator[Finding]:
    """Batches, receipts and logs, tried with the newest blocks but the last, which may be replaced."""
    last = max(head.number - 1, 0)
    numbers = [BlockNumber(number) for number in range(max(0, last - MOST_CALLS + 1), last + 1)]
    try:
        headers = node.headers(numbers, verified=True)
        check_parents(headers.values())
    except (RpcFault, ImpossibleAnswer) as fault:
        remedy = fault.remedy if isinstance(fault, RpcFault) else FaultyAnswer.remedy
        yield Finding(f"headers of {len(numbers)} blocks: {fault}: {remedy}".removesuffix(": "), good=False)
        return
    yield Finding(
        f"accepts batches of {min(node.calls.now, len(numbers))} calls"
        if node.takes_batches
        else "no batches: more requests per poll"
    )
    full = [headers[number] for number in reversed(numbers) if _has_logs(headers[number])]
    if not full:
        words = f"blocks {numbers[0]} to {last} have no logs: receipts and logs could not be tried"
        yield Finding(words, proves=False)
        return
    receipts = {header.number: _receipts_of(node, header) for header in full[:TRIED_RECEIPTS]}
    matching = [header for header in full if _match(header, receipts.get(header.number))]
    if any(header.verified for header in full):
        yield _receipts(len(matching), receipts)
    else:
        words = "headers do not give their hashes: blocks can only be proven with a second URL"
        yield Finding(words, proves=False)
    yield from _tried("logs", _logs, node, matching or full, receipts)


def _has_logs(header: Header) -> bool:
    """Whether the block has logs, by its filter; by its transactions where that is empty or missing."""
    return any(header.bloom) if header.bloom and any(header.bloom) else bool(header.transactions)


def _receipts_of(node: Node, header: Header) -> Sequence[Receipt] | RpcFault:
    try:
        return receipts_of_block(node, listed(node, header.number) or Listed(header, (), {}))
    except RpcFault as fault:
        return fault


def _match(header: Header, receipts: Sequence[Receipt] | RpcFault | None) -> bool:
    return not isinstance(receipts, RpcFault | None) and match(header, receipts)


def _receipts(matching: int, receipts: Mapping[BlockNumber, Sequence[Receipt] | RpcFault]) -> Finding:
    if matching == len(receipts):
        return Finding("receipts match the headers: one URL is enough to prove blocks")
    if matching:
        words = f"receipts of {matching} of {len(receipts)} blocks match: the others stay unproven"
        return Finding(words)
    fault = next((found for found in receipts.values() if isinstance(found, RpcFault)), None)
    what, why = ("receipts do not match the headers", "") if fault is None else ("no receipts", f" ({fault})")
    return Finding(f"{what}: blocks can only be proven with a second URL{why}", proves=False)


def _logs(
    node: Node, headers: Sequence[Header], receipts: Mapping[BlockNumber, Sequence[Receipt] | RpcFault]
) -> Finding:
    """Whether the node returns the logs of a block that has some, and of a range with it.

    :param headers: of blocks with logs; their receipts are believed where they match.
    """
    header = headers[0]
    known = receipts.get(header.number)
    every = (
        [log for receipt in known for log in receipt.logs]
        if not isinstance(known, RpcFault | None) and _match(header, known)
        else node.every_log(header.number)
    )
    if not every:
        words = (
            f"returns no logs of block {header.number}, whose header says that it has some: use another URL"
        )
        return Finding(words, good=False)
    sample = next((log for log in every if log.topics), None)
    if sample is None:
        return Finding(f"returns the {len(every)} logs of block {header.number}")
    wanted = Wanted((sample.address,), (sample.topics[0],))
    expected = sum(wanted.covers(log) for log in every)
    first = BlockNumber(max(0, header.number - min(FIRST_BLOCKS, node.blocks.now) + 1))
    parts = in_parts(node, Blocks(first, header.number), lambda part: fetch(node, wanted, part))
    found = sum(log.block == header.number for fetched in parts for log in fetched.logs)
    if found != expected:
        words = (
            f"returns {found} of the {expected} logs of a contract in block {header.number}: use another URL"
        )
        return Finding(words, good=False)
    return Finding(f"returns the logs of blocks {first} to {header.number}")
