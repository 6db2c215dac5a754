"""Which branch is read: each voice names the block that it has, and ``app.watcher.rules.evidence`` counts.

The URL that is read votes in each poll. The others are requested after the step of the poll, so a slow one
delays no answer, and their votes count in the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.values.identifiers import BlockNumber
from app.watcher.loop.view import OURS, Jump, TooDeep, View
from app.watcher.rpc.faults import Conflicting, FaultyAnswer, Incomplete, Moved, NotThere, RpcFault
from app.watcher.rpc.node import Look, Node
from app.watcher.rpc.nodes import Trouble
from app.watcher.rules.blocks import BlockId, Header, ImpossibleAnswer
from app.watcher.rules.evidence import ALONE_SECONDS, Choice, Vote, choose, counted
from app.watcher.rules.reorg import Unanswered, find_fork

OLDER_SECONDS: Final = 30.0
"""How much older the newest block of the URL that is read may be than that of another one."""

SPLIT_POLLS: Final = 3
"""Polls after which the voices of another branch deny what they did not return themselves."""


class Branch(Struct, frozen=True):
    """Another branch than the one that is read.

    :param anchor: the highest block known to be canonical: reading goes on above it.
    :param replaced: the hash of a block that was read and is orphaned.
    :param from_block: what was reported is retracted from this block on.
    :param name: the hash of its block with this number, by which voices mean the same branch.
    :param is_long: it replaces more blocks than a reorganisation may, none of which a second voice had.
    :param too_deep: why it cannot be read without an operator.
    """

    anchor: BlockId
    replaced: str
    from_block: BlockNumber
    name: str
    is_long: bool = False
    too_deep: str | None = None


def branch_of(view: View, node: Node, look: Look) -> Branch | None:
    """The branch to read by this node; None where it is the one that is read already.

    :raises NotThere: the node lags, or another URL has a far newer block.
    :raises Conflicting: it names another branch than the one that is to be read.
    :raises TooDeep: the branch goes back further than is accepted.
    """
    if view.jump is not None and view.monotonic() - view.jump.since >= ALONE_SECONDS:
        view.jump = None
    view.heads[node.voice] = look.head
    older, newest = view.behind(node.voice)
    if older > OLDER_SECONDS and len(view.nodes.usable()) > 1:  # it may be stuck
        raise NotThere(
            f"its newest block {look.head.number} is {older:.0f} seconds older than that of {newest}"
        )
    own = _named_by(view, node, look)
    choice = _choice(view, own)
    if choice.hash != (OURS if own is None else own.name):
        raise Conflicting("it does not name the branch that is read")
    if own is None:
        return None
    if own.too_deep is not None:
        raise TooDeep(own.too_deep)
    view.votes = {
        voice: Vote(OURS if vote.hash == own.name else own.replaced, vote.at)
        for voice, vote in view.votes.items()
        if vote.hash == own.name or view.had.get(voice, -1) >= own.from_block
    }
    view.forks = {voice: own.from_block for voice, vote in view.votes.items() if vote.hash != OURS}
    view.had = {voice: min(block, own.anchor.number) for voice, block in view.had.items()}
    view.jump = None
    return own


def request_others(view: View, node: Node) -> None:
    """Request the newest blocks of all voices but that of this node, which was read, and note whether they
    name another branch.
    """
    for voice in view.nodes.voices:
        if voice != node.voice:
            _request_vote(view, voice)
    choice = _choice(view, None)
    view.is_split = choice.is_split
    view.split_polls = min(view.split_polls + 1, SPLIT_POLLS) if choice.is_split else 0
    votes = counted(view.votes, view.nodes.voices, view.monotonic())
    others = frozenset(voice for voice, vote in votes.items() if vote.hash != OURS)
    if choice.is_split:
        words = f"{' and '.join(sorted(others))} name another branch than the one that is read"
        view.nodes.note(Trouble("", f"the chain is split: {words}"))
    denied_by = others if view.split_polls >= SPLIT_POLLS else frozenset()
    if denied_by != view.denied_by:
        view.denied_by = denied_by
        view.split_from = min((view.forks[voice] for voice in denied_by if voice in view.forks), default=0)
        view.requested_at.clear()


def _request_vote(view: View, voice: str) -> None:
    last = view.readings.live_to
    for other in [node for node in view.nodes.usable() if node.voice == voice]:
        try:
            _named_by(view, other, other.look(None if last is None else last.number, finalized=False))
            return
        except NotThere:
            return  # it lags: what it named last counts
        except RpcFault as fault:
            view.nodes.failed(other, fault)


def _named_by(view: View, node: Node, look: Look) -> Branch | None:
    """The branch that the node names, as its voice's vote; None for the one that is read.

    :raises NotThere: it lags, and contradicts nothing.
    """
    now = view.monotonic()
    view.heads[node.voice] = look.head
    last_read = view.readings.live_to
    if last_read is None or (look.last is not None and look.last.hash == last_read.hash):
        view.votes[node.voice] = Vote(OURS, now)
        if last_read is not None:
            view.had[node.voice] = last_read.number
            if view.jump is not None and view.jump.reported_by != node.name:
                view.jump = None
        return None
    if look.last is None and look.head.number >= last_read.number:
        raise Incomplete(
            f"its newest block is {look.head.number}, but it does not have block {last_read.number}"
        )
    branch = _branch(view, node, look, last_read)
    if branch is None:
        if (vote := view.votes.get(node.voice)) is not None:
            view.votes[node.voice] = Vote(vote.hash, now)
        raise NotThere(f"it is {last_read.number - look.head.number} blocks behind what was already read")
    view.votes[node.voice] = Vote(branch.name, now)
    view.forks[node.voice] = branch.from_block
    return branch


def _choice(view: View, own: Branch | None) -> Choice:
    """The branch to read by all votes.

    A voice that never had the blocks above a fork says nothing about them. Only at a tie it counts whose
    newest block is far older.

    :param own: the one that the node names that is tried; its blocks may be agreed and final.
    """
    votes = counted(view.votes, view.nodes.voices, view.monotonic())
    forks = [view.forks[voice] for voice, vote in votes.items() if vote.hash != OURS and voice in view.forks]
    fork = own.from_block if own is not None else min(forks, default=None)
    if fork is not None:
        had_it = {voice for voice, block in view.had.items() if block >= fork}
        votes = {voice: vote for voice, vote in votes.items() if vote.hash != OURS or voice in had_it}
    had = sorted((view.had.get(voice, -1) for voice in view.nodes.voices), reverse=True)
    agreed_to = min(-1 if view.final is None else view.final, had[1] if len(had) > 1 else -1)
    agreed = own is not None and own.from_block <= agreed_to
    choice = choose(votes, OURS, agreed=agreed)
    if not choice.is_split:
        return choice
    votes = {voice: vote for voice, vote in votes.items() if not view.is_stuck(voice)}
    return choose(votes, OURS, agreed=agreed)


def is_confirmed(view: View, node: Node, look: Look, above: BlockNumber) -> bool:
    """Whether another voice has the node's head. Where none has, it is noted as a jump."""
    for other in [each for each in view.nodes.usable() if each.voice != node.voice]:
        try:
            header = other.header(look.head.number)
        except RpcFault:
            continue
        if header is not None and header.hash == look.head.hash:
            view.jump = None
            return True
    view.jump = view.jump or Jump(look.head, node.name, above, view.monotonic())
    return False


def _branch(view: View, node: Node, look: Look, last_read: BlockId) -> Branch | None:
    """Where the node's chain leaves what was read; None where it only lags.

    A node with a lower head contradicts what was read where that head is newer.

    :raises FaultyAnswer: its answers contradict each other.
    :raises Moved: its chain changed while it was requested.
    """
    headers = [header for header in view.readings.headers if header.number <= last_read.number]
    try:
        fork = find_fork(headers, look.head, node.known_headers, view.max_reorg)
    except ImpossibleAnswer as error:
        raise FaultyAnswer(str(error)) from None
    except Unanswered as error:
        raise Incomplete(str(error)) from None
    if fork is None:
        if look.head.number >= last_read.number:
            raise Moved("the last block read was replaced meanwhile")
        return None if look.head.at <= headers[-1].at else _without(view, node, look, headers)
    if fork.ancestor is None:
        # All is replaced, as it may be soon after the start. Where the old branch begins is not needed:
        # nothing was read there.
        below = _below_all(view, node)
        branch = Branch(below, fork.replaced, BlockNumber(below.number + 1), below.hash)
        return _checked(view, branch, last_read)
    name = look.head.hash
    if fork.from_block <= look.head.number and (own := node.header(fork.from_block)) is not None:
        name = own.hash
    branch = Branch(fork.ancestor.id, fork.replaced, fork.from_block, name)
    return _checked(view, branch, last_read, lower=look.head.number < last_read.number)


def _checked(view: View, branch: Branch, last_read: BlockId | Header, *, lower: bool = False) -> Branch:
    """The branch, with what its depth means. ``lower``: its newest block is below the last one read."""
    depth = last_read.number - branch.from_block
    if depth <= view.max_reorg:
        return branch
    if lower and view.jump is not None and branch.from_block > view.jump.above:
        return replace(branch, is_long=True)
    words = (
        f"a reorganisation replaced {depth} blocks, from block {branch.from_block} on; at most "
        f"{view.max_reorg} blocks below the newest are accepted (MAX_REORG_BLOCKS). Make sure that the URLs "
        "belong to this chain"
    )
    return replace(branch, too_deep=words)


def _without(view: View, node: Node, look: Look, headers: Sequence[Header]) -> Branch:
    """The branch of a node that lacks the newest blocks that were read. Its own newest is read."""
    had = [header for header in headers if header.number < look.head.number]
    anchor = had[-1].id if had else _below_all(view, node, look.head.number)
    first = BlockNumber(anchor.number + 1)
    branch = Branch(anchor, headers[-1].hash, first, f"none from {first} on")
    return _checked(view, branch, headers[-1], lower=True)


def _below_all(view: View, node: Node, most: int | None = None) -> BlockId:
    """The block below the first one that was read, and below block ``most``. The genesis block has no logs
    and no other branch.
    """
    readings = view.readings
    backfilled = readings.backfilled_to is not None and readings.backfill_from is not None
    first = max((readings.backfill_from if backfilled else readings.live_from) or 1, 1)
    number = BlockNumber(max(min(first, first if most is None else most) - 1, 0))
    if (below := node.header(number)) is None:
        raise Incomplete(f"it does not have block {number}, the one below the first block read")
    return below.id
