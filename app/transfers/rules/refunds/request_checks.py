"""The checks of a refund request, and the digest that validators sign
(docs/interface/contracts.md#signatures).
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from app.transfers.rules.refunds.request_message import (
    PaidIds,
    RefundRequest,
    UnreadableRequest,
    decode_request,
    paid_for_words,
    withdraw_id,
)
from app.values.amounts import is_uint256
from app.values.codes import SendKind
from app.values.crypto import ADDRESS_BYTES, HASH_BYTES, checksum_address, keccak256
from app.values.identifiers import ChainId, TransferId

DOMAIN_TEXT: Final[dict[SendKind, str]] = {
    SendKind.POOL: "WithdrawMsg",
    SendKind.DEPOSIT: "Withdraw",
    SendKind.BURN: "Mint",
}
"""What separates the three kinds in the signed digest; also the name of the request's message."""

CONTRACT_ROLE: Final[dict[SendKind, str]] = {
    SendKind.POOL: "pool bridge",
    SendKind.DEPOSIT: "token vault",
    SendKind.BURN: "pegged bridge",
}
"""Which contract of the source chain pays a refund of the kind."""

_SIGNED_MESSAGE_PREFIX: Final = b"\x19Ethereum Signed Message:\n32"


class RefundContext(Struct, frozen=True):
    """The known facts about a transfer when its refund is validated. None: not known (yet).

    ``contract`` is the one that pays a refund of this kind on the source chain, ``token`` the source
    token's address, ``receiver`` the send's sender, to whom a refund goes (20 bytes each); ``amount`` is
    what was sent, in the source token's smallest unit. ``unlisted_contract`` is the contract that the send
    names, where contracts are configured and that one is not among them. ``paid_ids`` are withdraw ids that
    were paid for others. Raises ValueError for a wrong length.
    """

    transfer_id: TransferId
    kind: SendKind | None = None
    src_chain_id: ChainId | None = None
    contract: bytes | None = None
    token: bytes | None = None
    receiver: bytes | None = None
    amount: int | None = None
    unlisted_contract: str | None = None
    paid_ids: PaidIds = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.transfer_id) != HASH_BYTES:
            raise ValueError(f"a transfer id has 32 bytes, not {len(self.transfer_id)}")
        for address in (self.contract, self.token, self.receiver):
            if address is not None and len(address) != ADDRESS_BYTES:
                raise ValueError(f"an address has 20 bytes, not {len(address)}")

    @property
    def unknown(self) -> tuple[str, ...]:
        """The facts that are missing, in words, before a request can be proven for this transfer."""
        role = CONTRACT_ROLE[self.kind] if self.kind else "paying contract"
        contract = f"the address of the source chain's {role}"
        if self.unlisted_contract is not None:
            contract = (
                f"{self.unlisted_contract}, which the send names as its {role}, in the network document"
            )
        facts = (
            (self.kind, "the kind of the send"),
            (self.src_chain_id, "the source chain"),
            (self.contract, contract),
            (self.token, "the token's address on the source chain"),
            (self.receiver, "the address that sent"),
            (self.amount, "the amount sent"),
        )
        return tuple(words for fact, words in facts if fact is None)


def domain_separator(kind: SendKind, chain_id: ChainId, contract: bytes) -> bytes:
    """The 32 bytes that bind a signature to one chain, one contract and one kind of call. Raises ValueError
    for a contract that is not 20 bytes or a chain id that is no uint256.
    """
    if not is_uint256(chain_id):
        raise ValueError(f"{chain_id} is not a chain id")
    if len(contract) != ADDRESS_BYTES:
        raise ValueError(f"a contract's address has 20 bytes, not {len(contract)}")
    return keccak256(chain_id.to_bytes(32, "big") + contract + DOMAIN_TEXT[kind].encode("ascii"))


def signing_digest(kind: SendKind, chain_id: ChainId, contract: bytes, wd_onchain: bytes) -> bytes:
    """The 32-byte digest that validators sign: EIP-191 over keccak-256 of domain and request."""
    inner = keccak256(domain_separator(kind, chain_id, contract) + wd_onchain)
    return keccak256(_SIGNED_MESSAGE_PREFIX + inner)


def contradictions(wd_onchain: bytes, ctx: RefundContext) -> tuple[str, ...]:
    """The contradictions between the request and the known facts, in words; () without any.

    While the kind is not known, only a request that cannot be read as any kind is contradicted by it: the
    requests of deposits and burns have the same shape, and the compared fields the same numbers.
    """
    reason = ""
    for kind in (ctx.kind,) if ctx.kind else SendKind:
        try:
            request = decode_request(kind, wd_onchain)
        except UnreadableRequest as unreadable:
            reason = f"it cannot be read as the {DOMAIN_TEXT[kind]} of a {kind.value} refund: {unreadable}"
        else:
            return tuple(_contradicted_facts(request, ctx))
    return (reason if ctx.kind else "it cannot be read as any kind of refund request",)


def digest_in(wd_onchain: bytes, ctx: RefundContext) -> bytes | None:
    """The digest that validators sign for this transfer, None while kind, chain or contract are unknown."""
    if ctx.kind is None or ctx.src_chain_id is None or ctx.contract is None:
        return None
    return signing_digest(ctx.kind, ctx.src_chain_id, ctx.contract, wd_onchain)


def _contradicted_facts(request: RefundRequest, ctx: RefundContext) -> Iterator[str]:
    if request.ref_id != ctx.transfer_id:
        reference = f"transfer 0x{request.ref_id.hex()}" if request.ref_id else "no transfer"
        yield f"it refers to {reference}, not to 0x{ctx.transfer_id.hex()}"
    if ctx.src_chain_id is not None and request.stated_chain_id != ctx.src_chain_id:
        yield (
            f"it names chain {request.stated_chain_id}, but the transfer was sent on chain {ctx.src_chain_id}"
        )
    if ctx.token is not None and request.token != ctx.token:
        yield f"it pays token {checksum_address(request.token)}, but {checksum_address(ctx.token)} was sent"
    if ctx.receiver is not None and request.receiver != ctx.receiver:
        yield f"it pays {checksum_address(request.receiver)}, but {checksum_address(ctx.receiver)} sent"
    if ctx.amount is not None and request.amount > ctx.amount:
        yield f"it pays {request.amount}, but only {ctx.amount} was sent"
    paid_id = withdraw_id(request)
    if paid_id is not None and (other := ctx.paid_ids.get(paid_id)) is not None:
        yield (
            f"its withdraw id 0x{paid_id.hex()} was already paid {paid_for_words(other)}; the contract "
            "pays each id once: a request with another seqnum is needed"
        )
