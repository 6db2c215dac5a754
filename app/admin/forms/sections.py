"""The forms of the network document's sections. A field is named like the key that it edits."""

from __future__ import annotations

from typing import Final

from wtforms import DataList

from app.admin.forms.amounts import AmountField, UnitOf
from app.admin.forms.chains import AnyChainField
from app.admin.forms.contracts import ContractsField
from app.admin.forms.ends import EndField
from app.admin.forms.fields import (
    ChainField,
    FlagField,
    LineField,
    NoteField,
    PpmField,
    RateField,
    SymbolField,
    WholeField,
)
from app.admin.forms.pair_tokens import PairTokenField
from app.admin.forms.rows import RowForm
from app.admin.forms.tiers import TiersField
from app.admin.forms.watching import FinalityField, SecondsField
from app.admin.network_names import symbol_choices
from app.domain.blocking import as_network

_GAS: Final = UnitOf("id", symbol="gas_token_symbol", contract="contract_addr")
_OWN: Final = UnitOf(decimals="decimal")
_HERE: Final = UnitOf("chain_id")
_SOURCE: Final = UnitOf("src_chain_id")
_DESTINATION: Final = UnitOf("dst_chain_id")
_ORIGINAL: Final = UnitOf("org_chain_id", "org_token.decimal")
_PEGGED: Final = UnitOf("pegged_chain_id", "pegged_token.decimal")


class ChainForm(RowForm):
    """A chain."""

    id = WholeField("Chain id", "From 1 to 4294967295, as wallets know it.")
    name = LineField("Name", "What people call it.")
    icon = LineField("Icon", "The https address of a picture; may be empty.", needed=False)
    explore_url = LineField(
        "Block explorer", "Its https address. Links are this, the path and the transaction's hash."
    )
    tx_path = LineField(
        "Path of transactions", "Such as /tx/ or /transaction/. Empty: /tx/.", needed=False, default="/tx/"
    )
    contract_addr = LineField(
        "Bridge contract",
        "The pool bridge, to which refunds of pool sends are addressed. Empty where there is none yet.",
        needed=False,
    )
    gas_token_symbol = LineField("Gas token", "The symbol of the coin that pays for gas, such as ETH.")
    block_delay = WholeField(
        "Block delay", "Blocks that a transfer waits on this chain when it starts here; told with its status."
    )
    drop_gas_amt = AmountField(
        "Gas given to receivers",
        "Told with estimates to this chain. An EVM chain's coin has 18 decimals.",
        unit_of=_GAS,
        default="0",
    )
    minimal_max_slippage = PpmField(
        "Least slippage, in ppm",
        "The contract takes a send only with a slippage that is strictly more than its own "
        "minimalMaxSlippage: enter the contract's value + 1. 10000 ppm are 1 %.",
    )
    watch_from_block = WholeField(
        "Watch from block",
        "The first block that the watcher reads, such as the one of the oldest contract. Empty: the chain is "
        "not watched.",
        needed=False,
    )
    finality = FinalityField(
        "Final after",
        "So many blocks, or the word finalized where the nodes know it. Then each block is read for the "
        "second time. Empty: twice the block delay.",
        needed=False,
    )
    poll_seconds = SecondsField(
        "Seconds between looks", "From 0.2 to 3600: how often the newest blocks are asked for.", default=5
    )
    rpc = ContractsField(
        "Nodes",
        "Names of environment variables that hold the URLs, such as RPC_URL_ETHEREUM, the preferred one "
        "first, a line each. Never a URL: URLs hold keys.",
    )
    disabled = FlagField("Stopped", "No estimate is given from or to the chain. Transfers go on.")
    disabled_reason = NoteField("Reason", "Why it is stopped. Operators will ask; users are never told.")


class TokenForm(RowForm):
    """A token on a chain."""

    chain_id = ChainField("Chain")
    symbol = LineField(
        "Symbol",
        "The same on every chain where the token is; letter case counts.",
        datalist=DataList(symbol_choices),
    )
    name = LineField("Name", "What people call it.")
    icon = LineField("Icon", "The https address of a picture; may be empty.", needed=False)
    address = LineField("Contract", "The token's contract on this chain.")
    decimal = WholeField("Decimals", "As the contract has them, from 0 to 36.")
    xfer_disabled = FlagField("Transfers stopped", "No estimate is given for this token here, pegged or not.")
    pool_disabled = FlagField(
        "Pool stopped", "No estimate is given through the pool; pegged transfers go on. Clients are told."
    )
    transfer_disabled = FlagField(
        "Shown as disabled", "Stops the same as the first; clients are told by transfer_disabled."
    )
    min_send = AmountField(
        "Least amount", "Of a transfer from here. Empty: none.", unit_of=_OWN, needed=False
    )  # fmt: skip
    max_send = AmountField(
        "Greatest amount", "Of a transfer from here. Empty: none.", unit_of=_OWN, needed=False
    )  # fmt: skip


class PoolForm(RowForm):
    """A pool: its caps, and its opening values, which are given once."""

    chain_id = ChainField("Chain")
    symbol = SymbolField("Token")
    total_cap = AmountField(
        "Total cap",
        "The most that the pool may hold after a transfer. Empty: no cap.",
        unit_of=_HERE,
        needed=False,
    )
    epoch_cap = AmountField(
        "Epoch cap",
        "The most that may be sent into the pool in one epoch. Empty: no cap.",
        unit_of=_HERE,
        needed=False,
    )
    epoch_seconds = WholeField(
        "Length of an epoch, in seconds",
        "An epoch starts at each multiple of it since 1970: 3600 is every full hour.",
        default=3600,
    )
    liquidity_added = AmountField(
        "Opening: added", "Liquidity before the feed began.", unit_of=_HERE, default="0"
    )
    liquidity_sent = AmountField(
        "Opening: sent", "Sent by users before the feed began.", unit_of=_HERE, default="0"
    )
    liquidity_relayed = AmountField(
        "Opening: relayed", "Paid out before the feed began.", unit_of=_HERE, default="0"
    )
    liquidity_withdrawn = AmountField(
        "Opening: withdrawn", "Taken out by providers before the feed began.", unit_of=_HERE, default="0"
    )


class RouteForm(RowForm):
    """A route through two pools."""

    symbol = SymbolField("Token")
    src_chain_id = ChainField("From")
    dst_chain_id = ChainField("To")
    rate = RateField()
    base_fee = AmountField(
        "Base fee",
        "Pays the destination chain's gas, in the destination token. A fee that is pinned or reported by the "
        "feed outranks it. Empty: not known, and no estimate is given until the feed reports one.",
        unit_of=_DESTINATION,
        needed=False,
    )
    base_fee_max_age_seconds = WholeField(
        "Greatest age of the base fee, in seconds",
        "Older than this, and not renewed by the feed, no estimate is given. Empty: no limit.",
        needed=False,
    )
    pinned_base_fee = AmountField(
        "Pinned base fee",
        "Counts over the feed and the configured fee until its end, and does not become too old. "
        "Empty: none.",
        unit_of=_DESTINATION,
        needed=False,
    )
    pinned_until = EndField("Pinned until", "At most 30 days ahead. Empty: nothing is pinned.")
    perc_fee_tiers = TiersField(unit_of=_SOURCE)


class RouteBlockForm(RowForm):
    """A route that is stopped."""

    symbol = LineField(
        "Token", "Its symbol; it may be one that comes later.", datalist=DataList(symbol_choices)
    )
    src_chain_id = AnyChainField("From")
    dst_chain_id = AnyChainField("To")
    both_directions = FlagField("Both directions", "Stops the way back, too.", default=True)
    reason = NoteField("Reason", "For operators. Users are never told.")
    expires_at = EndField()


class PeggedPairForm(RowForm):
    """A token locked on one chain and minted on another."""

    symbol = SymbolField("Token")
    org_chain_id = ChainField("Original chain", "Where the token is locked.")
    pegged_chain_id = ChainField("Pegged chain", "Where it is minted.")
    pegged_deposit_contract_addr = LineField(
        "Vault",
        "The contract on the original chain; refunds of deposits are addressed to it. Empty where there is "
        "none yet.",
        needed=False,
    )
    pegged_burn_contract_addr = LineField(
        "Bridge",
        "The contract on the pegged chain; refunds of burns are addressed to it. Empty where there is none "
        "yet.",
        needed=False,
    )
    deposit_contracts = ContractsField(
        "Further vaults", "Others that serve the pair beside the first, a line each; may be empty."
    )
    burn_contracts = ContractsField(
        "Further bridges", "Others that serve the pair beside the first, a line each; may be empty."
    )
    canonical_token_contract_addr = LineField(
        "Canonical token", "Where the minted token has another, canonical form; may be empty.", needed=False
    )
    vault_version = WholeField("Vault version", default=2)
    bridge_version = WholeField(
        "Bridge version",
        "Between two pegged chains of one token, both 2, transfers are burned and minted.",
        default=2,
    )
    deposit_base_fee = AmountField(
        "Base fee to the pegged chain",
        "In the pegged chain's token. Empty: not known, and no estimate is given.",
        unit_of=_PEGGED,
        needed=False,
        default="0",
    )
    burn_base_fee = AmountField(
        "Base fee back to the original chain",
        "In the original chain's token. Empty: not known, and no estimate is given.",
        unit_of=_ORIGINAL,
        needed=False,
        default="0",
    )
    perc_fee_tiers = TiersField(unit_of=_ORIGINAL)
    org_token = PairTokenField("Original token")
    pegged_token = PairTokenField("Pegged token")


class BlockedAddressForm(RowForm):
    """An account that gets no estimate."""

    address = LineField("Address", "An account on any chain, in any letter case.")
    reason = NoteField("Reason", "For operators. Users are never told.")
    source = LineField("Source", "Which list or case it comes from.", needed=False)
    expires_at = EndField()


class _NetworkField(LineField):
    """A network; a single IP address is the network of itself."""

    def parse(self, text: str) -> str:
        return as_network(super().parse(text))


class BlockedNetworkForm(RowForm):
    """Callers that get no estimate."""

    cidr = _NetworkField(
        "Network or IP address", "IPv4 or IPv6, such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32."
    )
    reason = NoteField("Reason", "For operators. Users are never told.")
    expires_at = EndField()
