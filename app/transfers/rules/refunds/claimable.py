"""When a refund becomes claimable: whether the bridge's contract would accept its request and signatures.

The rules are the contract's (docs/interface/contracts.md): it takes the request's bytes, signatures in
strictly ascending order of signer, and the whole validator set whose hash it stores. The power of the signers
must reach the quorum.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from app.network.rules.quorum import ValidatorSet
from app.transfers.rules.refunds.request_checks import RefundContext, contradictions, digest_in
from app.transfers.rules.refunds.request_message import RefundRequest, UnreadableRequest, decode_request
from app.values.codes import SendKind
from app.values.crypto import HASH_BYTES, BadSignature, checksum_address, recover_signer

SHOWN_REQUESTS: Final = 16
"""Requests of one transfer that are shown; signed ones are shown in any case. There is rarely a second."""

SHOWN_SIGNERS: Final = 4
"""Signers shown of a refused signature: one for each request that it may have been made over."""


class RequestValidation(Struct, frozen=True):
    """One refund request of a transfer and who has signed it.

    ``provable``: everything needed is known and nothing contradicts the request, so signatures count.
    ``digest`` is what validators sign, None while kind, chain or contract are unknown. ``signed`` has
    (signer, signature) of current validators, ascending by signer, one each.
    """

    wd_onchain: bytes
    request: RefundRequest | None
    contradictions: tuple[str, ...]
    provable: bool
    digest: bytes | None
    signed: tuple[tuple[bytes, bytes], ...]
    power_signed: int
    reached: bool

    @property
    def sorted_sigs(self) -> tuple[bytes, ...]:
        """In the order that the contract requires."""
        return tuple(signature for _, signature in self.signed)


class RefundVerdict(Struct, frozen=True):
    """All refund requests of a transfer, and the one that may be served.

    ``served`` is the request with a quorum, when exactly one has it. ``missing`` says in words why the refund
    is not served; it is empty when one is. ``not_signed`` are the validators who have not signed the foremost
    request, also those whose power is not needed.
    """

    requests: tuple[RequestValidation, ...]
    served: RequestValidation | None
    missing: tuple[str, ...]
    not_signed: tuple[bytes, ...]

    @property
    def requested(self) -> bool:
        """Whether there is a request that nothing contradicts (then the status is 7 at least)."""
        return any(not each.contradictions for each in self.requests)

    @property
    def foremost(self) -> RequestValidation | None:
        """The request to show: the served one, else the uncontradicted one with the most power."""
        return self.served or _foremost(self.requests)


def validate_refund(
    ctx: RefundContext,
    requests: Iterable[bytes],
    signatures: Iterable[bytes],
    validators: ValidatorSet | None,
) -> RefundVerdict:
    """Validate every request of a transfer with all signatures, by the source chain's current set. Their
    order and repetition change nothing, so it can be repeated whenever a fact is added or removed.

    A signature counts for the request it was made over, if its signer is a current validator. Of several
    signatures by one signer the one with the smallest bytes counts. If two requests have a quorum, none is
    served. Raises ValueError when ``validators`` is another chain's set.
    """
    _refuse_other_chain(ctx, validators)
    distinct = {bytes(signature) for signature in signatures}
    validated = tuple(
        _validate_request(wd_onchain, ctx, distinct, validators)
        for wd_onchain in sorted({bytes(request) for request in requests})
    )
    at_quorum = [each for each in validated if each.reached]
    served = at_quorum[0] if len(at_quorum) == 1 else None
    foremost = served or _foremost(validated)
    not_signed: tuple[bytes, ...] = ()
    if foremost is not None and foremost.provable and validators is not None and not validators.cannot_sign:
        signers = {signer for signer, _ in foremost.signed}
        not_signed = tuple(address for address in validators.signers if address not in signers)
    missing = () if served else _missing(ctx, foremost, len(at_quorum), validators)
    return RefundVerdict(validated, served, missing, not_signed)


def basis_of(verdict: RefundVerdict) -> tuple[tuple[RequestValidation, ...], frozenset[bytes]]:
    """The requests and signatures that are shown, and that give the same verdict: all requests signed by
    current validators, a few of the others, the foremost first, and the signatures that count.
    """
    ordered = sorted(verdict.requests, key=_rank)
    signed = [each for each in ordered if each.signed]
    unsigned = [each for each in ordered if not each.signed]
    basis = (*signed, *unsigned[: max(1, SHOWN_REQUESTS - len(signed))])
    return basis, frozenset(signature for each in basis for _, signature in each.signed)


def signature_is_provably_false(
    ctx: RefundContext,
    requests: Iterable[bytes],
    signature: bytes,
    validators: ValidatorSet | None,
) -> str | None:
    """Why ``signature`` can be refused, or None when it is valid or may become so.

    Malformed and malleable ones are always refused. One that no current validator made over any known
    request is refused once a provable request and the validator set are known; until then it waits.
    One made over a contradicted request is not refused: it is genuine, although it does not count.
    Raises ValueError when ``validators`` is another chain's set.
    """
    _refuse_other_chain(ctx, validators)
    known = sorted({bytes(request) for request in requests})
    digests = [digest for wd_onchain in known if (digest := digest_in(wd_onchain, ctx)) is not None]
    try:
        # Without a digest, any digest shows whether a signer can be recovered at all.
        signers = [recover_signer(digest, signature) for digest in digests or (bytes(HASH_BYTES),)]
    except BadSignature as bad:
        return str(bad)
    if validators is None or signature_waits(ctx, known, validators):
        return None
    if any(validators.power_of(signer) is not None for signer in signers):
        return None
    shown = ", ".join(map(checksum_address, signers[:SHOWN_SIGNERS]))
    more = f" and {len(signers) - SHOWN_SIGNERS} more" if len(signers) > SHOWN_SIGNERS else ""
    return (
        f"must be made by a current validator of chain {validators.chain_id} over a known request (it "
        f"recovers to {shown}{more})"
    )


def signature_waits(ctx: RefundContext, requests: Iterable[bytes], validators: ValidatorSet | None) -> bool:
    """Whether it is too early to decide about a signature over one of these requests."""
    return validators is None or not any(_is_provable(wd_onchain, ctx) for wd_onchain in requests)


def signers_of(
    ctx: RefundContext, requests: Iterable[bytes], signature: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """For each request the address that the signature would be by: (request, address)."""
    for wd_onchain in requests:
        digest = digest_in(wd_onchain, ctx)
        if digest is not None:
            with suppress(BadSignature):
                yield wd_onchain, recover_signer(digest, signature)


def collect_signed(
    digest: bytes, signatures: Iterable[bytes], validators: ValidatorSet
) -> tuple[tuple[bytes, bytes], ...]:
    """(signer, signature) of the set's members over ``digest``, ascending by signer, one each.
    Malformed signatures and those of others are left out; of two by one signer the smaller counts.
    """
    found: dict[bytes, bytes] = {}
    for signature in sorted(signatures):
        try:
            signer = recover_signer(digest, signature)
        except BadSignature:
            continue
        if validators.power_of(signer) is not None:
            found.setdefault(signer, signature)
    return tuple(sorted(found.items()))


def _validate_request(
    wd_onchain: bytes, ctx: RefundContext, signatures: Iterable[bytes], validators: ValidatorSet | None
) -> RequestValidation:
    contradicted = contradictions(wd_onchain, ctx)
    provable = not contradicted and not ctx.unknown
    digest = digest_in(wd_onchain, ctx)
    signed: tuple[tuple[bytes, bytes], ...] = ()
    power = 0
    reached = False
    if provable and digest is not None and validators is not None:
        signed = collect_signed(digest, signatures, validators)
        power = sum(validators.power_of(signer) or 0 for signer, _ in signed)
        reached = validators.reached_by(power)
    return RequestValidation(
        wd_onchain=wd_onchain,
        request=_readable(wd_onchain, ctx.kind),
        contradictions=contradicted,
        provable=provable,
        digest=digest,
        signed=signed,
        power_signed=power,
        reached=reached,
    )


def _is_provable(wd_onchain: bytes, ctx: RefundContext) -> bool:
    return not ctx.unknown and not contradictions(wd_onchain, ctx)


def _readable(wd_onchain: bytes, kind: SendKind | None) -> RefundRequest | None:
    if kind is None:
        return None
    try:
        return decode_request(kind, wd_onchain)
    except UnreadableRequest:
        return None


def _foremost(requests: Sequence[RequestValidation]) -> RequestValidation | None:
    if not requests:
        return None
    return min(requests, key=_rank)


def _rank(request: RequestValidation) -> tuple[bool, int, bytes]:
    return bool(request.contradictions), -request.power_signed, request.wd_onchain


def _refuse_other_chain(ctx: RefundContext, validators: ValidatorSet | None) -> None:
    if validators and ctx.src_chain_id is not None and validators.chain_id != ctx.src_chain_id:
        raise ValueError(
            f"the validators of chain {validators.chain_id} do not sign refunds on chain {ctx.src_chain_id}"
        )


def _missing(
    ctx: RefundContext,
    foremost: RequestValidation | None,
    at_quorum: int,
    validators: ValidatorSet | None,
) -> tuple[str, ...]:
    """Why the refund is not served, in words, given that it is not."""
    if foremost is None:
        return ("no refund request is known yet: the validator network is preparing it",)
    if at_quorum > 1:
        return (f"{at_quorum} different requests are signed by a quorum, so none of them is used",)
    if foremost.contradictions:
        reasons = "; ".join(foremost.contradictions)
        return (f"the refund request contradicts the transfer: {reasons}",)
    words = [f"not known yet: {fact}" for fact in ctx.unknown]
    if validators is None:
        words.append("not known yet: the validator set of the source chain")
    elif validators.cannot_sign is not None:
        words.append(validators.cannot_sign)
    elif foremost.provable:
        lacking = validators.quorum - foremost.power_signed
        words.append(
            f"signed power {foremost.power_signed} of {validators.total_power} is below the quorum of "
            f"{validators.quorum}: {lacking} more needed"
        )
    return tuple(words)
