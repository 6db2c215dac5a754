"""Chains, the tokens on them, and the tokens' pools."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    JSON,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, UtcTime
from app.json_documents import Amount, WholeNumber
from app.network.models import document_fields as shapes
from app.network.models.columns import Published, Unit, column, published_columns
from app.network.models.value_fields import AmountOrNone, BlocksOrFinalized, Most, Ppm, RpcName, Seconds
from app.network.rules.watch_terms import MAX_RPC_NAMES, Finality
from app.values.identifiers import BlockNumber, ChainId

MAX_SLIPPAGE_PPM: Final = 999_999
MAX_BLOCK: Final = 2**63 - 1


class Chain(Base):
    """A chain, its explorer and the bridge contract on it."""

    __tablename__ = "chains"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = column(
        shapes.ChainNumber(data_key="id"),
        "Chain ID",
        "From 1 to 4294967295, the ID that wallets use.",
        unique=True,
        published=Published("Chain id.", 1, name="id", briefly=True),
    )
    name: Mapped[str] = column(
        shapes.Name(shapes.NAME_LENGTH, required=True),
        "Name",
        "As clients display it.",
        published=Published("Name.", "Ethereum", briefly=True),
    )
    icon: Mapped[str] = column(
        shapes.Url(least=0, load_default=""),
        "Icon",
        "https URL of an image. Optional.",
        published=Published("URL, or empty.", briefly=True),
        always=True,
    )
    block_delay: Mapped[int] = column(
        WholeNumber(0, shapes.MAX_UINT32, required=True),
        "Block delay",
        "Blocks to wait on this chain before a transfer from it counts as confirmed.",
        after="contract_addr",
        copied=True,
        published=Published("Blocks that a transfer waits on this chain.", 12, briefly=True),
    )
    gas_token_symbol: Mapped[str] = column(
        shapes.Label(shapes.SYMBOL_LENGTH, required=True),
        "Gas token",
        "Symbol of the coin that pays for gas, such as ETH.",
        after="contract_addr",
        copied=True,
        published=Published("Symbol.", "ETH", briefly=True),
    )
    explore_url: Mapped[str] = column(
        shapes.ExplorerUrl(required=True),
        "Block explorer",
        "https URL without ? and #. Links are this URL, the transaction path and the transaction hash.",
        doc="as configured, maybe with a / at its end",
        published=Published("URL of the block explorer.", "https://etherscan.io", briefly=True),
    )
    contract_addr: Mapped[str] = column(
        shapes.Contract(required=True),
        "Bridge contract",
        "The pool bridge, which pays refunds of transfers through pools. Leave empty if there is none yet.",
        validates=True,
        published=Published("Pool bridge.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820", briefly=True),
    )
    drop_gas_amt: Mapped[int] = column(
        Amount(load_default=0),
        "Gas given to receivers",
        "Clients see it in estimates to this chain. The coin of an EVM chain has 18 decimals.",
        unit=Unit("id", symbol="gas_token_symbol", contract="contract_addr"),
        copied=True,
        published=Published("Gas token dropped to receivers.", "0", briefly=True),
        always=True,
    )
    minimal_max_slippage: Mapped[int] = column(
        Ppm(0, MAX_SLIPPAGE_PPM, required=True),
        "Minimum slippage (ppm)",
        "The contract accepts only a slippage above its own minimalMaxSlippage: enter the contract's "
        "value plus 1. 10 000 ppm is 1 %.",
        copied=True,
    )
    disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False),
        "Stopped",
        "No estimates are given from or to the chain. Transfers continue.",
        after="rpc_independent",
        published=Published("Whether it is disabled.", False, after="transfer_agent_contract_addr"),
        always=True,
    )
    disabled_reason: Mapped[str] = column(
        shapes.Note(),
        "Reason",
        "Why the chain is stopped. Operators see it; users never do.",
        after="disabled",
        always=True,
    )
    retired: Mapped[bool] = column(
        shapes.Flag(load_default=False),
        "Retired",
        "Stopped for good: the note at the top of each page disappears.",
        after="disabled_reason",
    )
    disabled_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="since when it is stopped; null where it is not, or that is not known"
    )
    tx_path: Mapped[str] = column(
        shapes.LinkPath(),
        "Transaction path",
        "Such as /tx/ or /transaction/. Leave empty for /tx/.",
        after="explore_url",
        copied=True,
    )
    drop_gas_cost_amt: Mapped[str] = column(
        shapes.Passed("0"), published=Published("As configured.", "0", briefly=True)
    )
    drop_gas_balance_alert: Mapped[str] = column(
        shapes.Passed("0"), published=Published("As configured.", "0", briefly=True)
    )
    suggested_gas_cost: Mapped[str] = column(
        shapes.Passed("0"),
        published=Published("As configured.", "213522", briefly=True),
    )
    flat_usd_fee: Mapped[float] = column(
        shapes.PlainNumber(load_default=0), published=Published("As configured.", 0.5)
    )
    farming_reward_contract_addr: Mapped[str] = column(
        shapes.Contract(load_default=""), published=Published("Address, or empty.")
    )
    transfer_agent_contract_addr: Mapped[str] = column(
        shapes.Contract(load_default=""), published=Published("Address, or empty.")
    )
    native_wrap: Mapped[str] = column(
        shapes.Contract(load_default=""),
        "Wrapped coin",
        "The token that the bridge contract wraps native coin as: its nativeWrap(). Leave empty if there is "
        "none: the gateway then gives no transactions of native coin.",
        after="gas_token_symbol",
        published=Published(
            "Token that native coin is wrapped as, or empty.", "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
        ),
    )
    watch_from_block: Mapped[BlockNumber | None] = column(
        WholeNumber(0, MAX_BLOCK, allow_none=True, load_default=None),
        "Watch from block",
        "First block for the watcher to read, such as the oldest contract's. Leave empty if "
        "the chain is not watched.",
    )
    finality: Mapped[Finality | None] = column(
        BlocksOrFinalized(allow_none=True, load_default=None),
        "Final after",
        "A number of blocks, or the word finalized if the nodes support it. Each block is read again "
        "when it is final. Leave empty for twice the block delay.",
        type_=JSON(none_as_null=True),
    )
    poll_seconds: Mapped[float] = column(
        Seconds(), "Polling interval (seconds)", "From 0.2 to 3600: how often to request new blocks."
    )
    rpc: Mapped[list[str]] = column(
        shapes.Different(RpcName(), MAX_RPC_NAMES),
        "Nodes",
        "Names of environment variables that hold node URLs, such as RPC_URL_ETHEREUM: one per line, "
        "the preferred one first. Do not enter URLs here, as they contain keys.",
    )
    rpc_same_provider: Mapped[list[str]] = column(
        shapes.Different(RpcName(), MAX_RPC_NAMES),
        "Nodes of one provider",
        "The names of nodes of one provider whose hosts end differently, one per line. "
        "They never confirm each other.",
    )
    rpc_independent: Mapped[list[str]] = column(
        shapes.Different(RpcName(), MAX_RPC_NAMES),
        "Independent nodes",
        "The names of nodes that are independent although their hosts end alike, as inside a cluster: one "
        "per line.",
    )
    extra: Mapped[dict[str, Any]] = column(shapes.Extra(lambda: published_columns(Chain)))


_OWN: Final = Unit(decimals="decimal")


def known_of_tokens() -> tuple[str, ...]:
    """The fields of a token in the transfer configs, which ``token`` has some of."""
    return (
        "token",
        *(name for name, (*_, published) in published_columns(Token, Pool).items() if not published.briefly),
    )


class Token(Base):
    __tablename__ = "tokens"
    __table_args__ = (UniqueConstraint("chain_id", "symbol"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = column(shapes.ListedChain(), "Chain", reference=ForeignKey("chains.chain_id"))
    symbol: Mapped[str] = column(
        shapes.Symbol(),
        "Symbol",
        "The same on every chain that has the token. Upper and lower case differ.",
        published=Published("The same on every chain.", "USDT", briefly=True, of_pairs=True),
    )
    name: Mapped[str] = column(
        shapes.Name(shapes.NAME_LENGTH, required=True),
        "Name",
        "As clients display it.",
        published=Published("Name.", "Tether USD", of_pairs=True),
    )
    icon: Mapped[str] = column(
        shapes.Url(least=0, load_default=""),
        "Icon",
        "https URL of an image. Optional.",
        published=Published("URL, or empty.", of_pairs=True),
        always=True,
    )
    address: Mapped[str] = column(
        shapes.ConfiguredAccount(required=True),
        "Contract",
        "The token's contract on this chain.",
        validates=True,
        published=Published(
            "Contract.", "0xdAC17F958D2ee523a2206206994597C13D831ec7", briefly=True, of_pairs=True
        ),
    )
    decimal: Mapped[int] = column(
        WholeNumber(0, shapes.MAX_DECIMALS, required=True),
        "Decimals",
        "From 0 to 36, as in the contract.",
        validates=True,
        published=Published("Decimals.", 6, briefly=True, of_pairs=True),
    )
    xfer_disabled: Mapped[bool] = column(
        shapes.TokenStop(load_default=False),
        "State",
        "Not through the pool: pegged transfers continue. Stopped: no estimates are given for this token on "
        "this chain, pegged or not. Clients see the state.",
        published=Published(
            "Whether it is not sent through the pool; in a pair: whether the pair is disabled.",
            False,
            briefly=True,
        ),
        always=True,
    )
    pool_disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False), doc="no estimates are given through the pool"
    )
    transfer_disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False),
        doc="stops all transfers, as xfer_disabled, and clients get it under this name",
        published=Published("Whether the token or its chain is disabled.", False),
    )
    min_send: Mapped[int | None] = column(
        AmountOrNone(),
        "Minimum amount",
        "Of a transfer from this chain: the bridge contract's minSend plus 1. A pegged pair's own "
        "minimum replaces it. Leave empty for none.",
        unit=_OWN,
        published=Published(
            "Least amount of a transfer, or empty.",
            after="delay_period",
            of_pairs=True,
        ),
    )
    max_send: Mapped[int | None] = column(
        Most(),
        "Maximum amount",
        "Of a transfer from this chain: the bridge contract's maxSend. A pegged pair's own maximum "
        "replaces it. Leave empty for none, which is 0 in the contract.",
        unit=_OWN,
        least="min_send",
        published=Published("Largest amount of a transfer, or empty.", after="min_send", of_pairs=True),
    )
    liq_add_disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False), published=Published("As configured.", False)
    )
    liq_rm_disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False), published=Published("As configured.", False)
    )
    liq_agg_rm_src_disabled: Mapped[bool] = column(
        shapes.Flag(load_default=False), published=Published("As configured.", False)
    )
    delay_threshold: Mapped[str] = column(
        shapes.Passed(),
        published=Published("Larger payouts wait in the delay queue; empty if none."),
    )
    delay_period: Mapped[int] = column(
        WholeNumber(0, shapes.MAX_UINT32, load_default=0),
        published=Published("For so many seconds.", 0),
    )
    extra: Mapped[dict[str, Any]] = column(shapes.Extra(known_of_tokens))


_HERE: Final = Unit("chain_id")


class Pool(Base):
    """A token's liquidity pool on one chain: opening values and caps, in the token's smallest units.

    What the feed adds is in ``pool_counters``.
    """

    __tablename__ = "pools"
    __table_args__ = (
        UniqueConstraint("chain_id", "symbol"),
        ForeignKeyConstraint(["chain_id", "symbol"], ["tokens.chain_id", "tokens.symbol"]),
        CheckConstraint("epoch_seconds > 0", name="epoch_seconds"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = column(shapes.ListedChain(), "Chain")
    symbol: Mapped[str] = column(shapes.ListedSymbol(), "Token")
    liquidity_added: Mapped[int] = column(
        Amount(required=True),
        "Opening: added",
        "Liquidity before the event feed began.",
        unit=_HERE,
        start="0",
        after="epoch_seconds",
        opening=True,
    )
    liquidity_sent: Mapped[int] = column(
        Amount(load_default=0),
        "Opening: sent",
        "Sent by users before the event feed began.",
        unit=_HERE,
        after="liquidity_added",
        opening=True,
        always=True,
    )
    liquidity_relayed: Mapped[int] = column(
        Amount(load_default=0),
        "Opening: relayed",
        "Paid out before the event feed began.",
        unit=_HERE,
        after="liquidity_sent",
        opening=True,
        always=True,
    )
    liquidity_withdrawn: Mapped[int] = column(
        Amount(load_default=0),
        "Opening: withdrawn",
        "Withdrawn by providers before the event feed began.",
        unit=_HERE,
        after="liquidity_relayed",
        opening=True,
        always=True,
    )
    total_cap: Mapped[int | None] = column(
        AmountOrNone(),
        "Total cap",
        "The most that the pool may hold after a transfer. Leave empty for no cap.",
        unit=_HERE,
        published=Published("The pool's total cap, or empty.", name="inbound_lmt", after="icon"),
        always=True,
    )
    epoch_cap: Mapped[int | None] = column(
        AmountOrNone(),
        "Epoch cap",
        "The most that may be sent into the pool in one epoch. Leave empty for no cap.",
        unit=_HERE,
        published=Published("The pool's epoch cap, or empty.", name="inbound_epoch_cap", after="inbound_lmt"),
        always=True,
    )
    epoch_seconds: Mapped[int] = column(
        WholeNumber(1, shapes.MAX_UINT32, required=True),
        "Epoch length (seconds)",
        "Epochs start at multiples of this length in UTC: 3600 starts one every full hour.",
        start=3600,
    )
