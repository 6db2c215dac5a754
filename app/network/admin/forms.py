"""The forms of the network document's sections. A field is named like the key that it edits."""

from __future__ import annotations

from typing import Final

from wtforms import DataList

from app.console.forms.ends import EndField
from app.console.forms.fields import FlagField, LineField, NoteField, SecondsField, WholeField
from app.network.admin.amount_fields import AmountField, UnitOf
from app.network.admin.field_types import (
    AnyChainField,
    ChainField,
    ContractsField,
    FinalityField,
    PairTokenField,
    PpmField,
    RateField,
    SymbolField,
    TiersField,
)
from app.network.admin.names import symbol_choices
from app.network.admin.row_forms import RowForm

_GAS: Final = UnitOf("id", symbol="gas_token_symbol", contract="contract_addr")
_OWN: Final = UnitOf(decimals="decimal")
_HERE: Final = UnitOf("chain_id")
_SOURCE: Final = UnitOf("src_chain_id")
_DESTINATION: Final = UnitOf("dst_chain_id")
_ORIGINAL: Final = UnitOf("org_chain_id", "org_token.decimal")
_PEGGED: Final = UnitOf("pegged_chain_id", "pegged_token.decimal")


class ChainForm(RowForm):
    """A chain."""

    id = WholeField("Chain ID", "From 1 to 4294967295, the ID that wallets use.")
    name = LineField("Name", "As clients display it.")
    icon = LineField("Icon", "https URL of an image. Optional.", needed=False)
    explore_url = LineField(
        "Block explorer",
        "https URL without ? and #. Links are this URL, the transaction path and the transaction hash.",
    )
    tx_path = LineField(
        "Transaction path",
        "Such as /tx/ or /transaction/. Leave empty for /tx/.",
        needed=False,
        default="/tx/",
    )
    contract_addr = LineField(
        "Bridge contract",
        "The pool bridge, which pays refunds of transfers through pools. Leave empty if there is none yet.",
        needed=False,
    )
    gas_token_symbol = LineField("Gas token", "Symbol of the coin that pays for gas, such as ETH.")
    block_delay = WholeField(
        "Block delay", "Blocks to wait on this chain before a transfer from it counts as confirmed."
    )
    drop_gas_amt = AmountField(
        "Gas given to receivers",
        "Clients see it in estimates to this chain. The coin of an EVM chain has 18 decimals.",
        unit_of=_GAS,
        default="0",
    )
    minimal_max_slippage = PpmField(
        "Minimum slippage (ppm)",
        "The contract accepts only a slippage above its own minimalMaxSlippage: enter the contract's value "
        "plus 1. 10 000 ppm is 1 %.",
    )
    watch_from_block = WholeField(
        "Watch from block",
        "First block for the watcher to read, such as that of the oldest contract. Leave empty if the chain "
        "is not watched.",
        needed=False,
    )
    finality = FinalityField(
        "Final after",
        "A number of blocks, or the word finalized if the nodes support it. Each block is read again when it "
        "is final. Leave empty for twice the block delay.",
        needed=False,
    )
    poll_seconds = SecondsField(
        "Polling interval (seconds)", "From 0.2 to 3600: how often to ask for new blocks.", default=5
    )
    rpc = ContractsField(
        "Nodes",
        "Names of environment variables that hold node URLs, such as RPC_URL_ETHEREUM: one per line, the "
        "preferred one first. Do not enter URLs here, as they contain keys.",
    )
    disabled = FlagField("Stopped", "No estimates are given from or to the chain. Transfers continue.")
    disabled_reason = NoteField("Reason", "Why the chain is stopped. Operators see it; users never do.")


class TokenForm(RowForm):
    """A token on a chain."""

    chain_id = ChainField("Chain")
    symbol = LineField(
        "Symbol",
        "The same on every chain that has the token. Upper and lower case differ.",
        datalist=DataList(symbol_choices),
    )
    name = LineField("Name", "As clients display it.")
    icon = LineField("Icon", "https URL of an image. Optional.", needed=False)
    address = LineField("Contract", "The token's contract on this chain.")
    decimal = WholeField("Decimals", "From 0 to 36, as in the contract.")
    xfer_disabled = FlagField(
        "Transfers stopped", "No estimates are given for this token on this chain, pegged or not."
    )
    pool_disabled = FlagField(
        "Pool stopped", "No estimates are given through the pool; pegged transfers continue. Clients see it."
    )
    transfer_disabled = FlagField(
        "Shown as disabled", "Also stops all transfers, and clients see it as transfer_disabled."
    )
    min_send = AmountField(
        "Minimum amount",
        "Of a transfer from this chain: the bridge contract's minSend plus 1. A pegged pair's own minimum "
        "replaces it. Leave empty for none.",
        unit_of=_OWN,
        needed=False,
    )
    max_send = AmountField(
        "Maximum amount",
        "Of a transfer from this chain: the bridge contract's maxSend. A pegged pair's own maximum replaces "
        "it. Leave empty for none, which is 0 in the contract.",
        unit_of=_OWN,
        needed=False,
    )


class PoolForm(RowForm):
    """A pool: its caps, and its opening values, which are given once."""

    chain_id = ChainField("Chain")
    symbol = SymbolField("Token")
    total_cap = AmountField(
        "Total cap",
        "The most that the pool may hold after a transfer. Leave empty for no cap.",
        unit_of=_HERE,
        needed=False,
    )
    epoch_cap = AmountField(
        "Epoch cap",
        "The most that may be sent into the pool in one epoch. Leave empty for no cap.",
        unit_of=_HERE,
        needed=False,
    )
    epoch_seconds = WholeField(
        "Epoch length (seconds)",
        "Epochs start at multiples of this length in UTC: 3600 starts one every full hour.",
        default=3600,
    )
    liquidity_added = AmountField(
        "Opening: added", "Liquidity before the event feed began.", unit_of=_HERE, default="0"
    )
    liquidity_sent = AmountField(
        "Opening: sent", "Sent by users before the event feed began.", unit_of=_HERE, default="0"
    )
    liquidity_relayed = AmountField(
        "Opening: relayed", "Paid out before the event feed began.", unit_of=_HERE, default="0"
    )
    liquidity_withdrawn = AmountField(
        "Opening: withdrawn",
        "Withdrawn by providers before the event feed began.",
        unit_of=_HERE,
        default="0",
    )


class RouteForm(RowForm):
    """A route through two pools."""

    symbol = SymbolField("Token")
    src_chain_id = ChainField("From")
    dst_chain_id = ChainField("To")
    rate = RateField()
    base_fee = AmountField(
        "Base fee",
        "Pays for gas on the destination chain, in the destination token. A pinned or reported fee takes "
        "precedence. Leave empty if not known: no estimates are given until the event feed reports a fee.",
        unit_of=_DESTINATION,
        needed=False,
    )
    base_fee_max_age_seconds = WholeField(
        "Maximum base-fee age (seconds)",
        "No estimates are given when the base fee is older than this. Leave empty for no limit.",
        needed=False,
    )
    pinned_base_fee = AmountField(
        "Pinned base fee",
        "Takes precedence over the reported and the configured fee until it ends, and never becomes too old. "
        "Leave empty for none.",
        unit_of=_DESTINATION,
        needed=False,
    )
    pinned_until = EndField("Pinned until", "At most 30 days ahead. Leave empty to pin nothing.")
    perc_fee_tiers = TiersField(unit_of=_SOURCE)


class RouteBlockForm(RowForm):
    """A route that is stopped."""

    symbol = LineField(
        "Token", "Symbol of the token. It may be added later.", datalist=DataList(symbol_choices)
    )
    src_chain_id = AnyChainField("From")
    dst_chain_id = AnyChainField("To")
    both_directions = FlagField(
        "Both directions", "Also stops transfers in the other direction.", default=True
    )
    reason = NoteField("Reason", "For operators only. Users never see it.")
    expires_at = EndField()


class PeggedPairForm(RowForm):
    """A token locked on one chain and minted on another."""

    symbol = SymbolField("Token")
    org_chain_id = ChainField("Original chain", "Where the token is locked.")
    pegged_chain_id = ChainField("Pegged chain", "Where it is minted.")
    pegged_deposit_contract_addr = LineField(
        "Vault",
        "The contract on the original chain, which pays refunds of deposits. Leave empty if there is none.",
        needed=False,
    )
    pegged_burn_contract_addr = LineField(
        "Bridge",
        "The contract on the pegged chain, which pays refunds of burns. Leave empty if there is none.",
        needed=False,
    )
    deposit_contracts = ContractsField("More vaults", "Other vaults of this pair, one per line. Optional.")
    burn_contracts = ContractsField("More bridges", "Other bridges of this pair, one per line. Optional.")
    canonical_token_contract_addr = LineField(
        "Canonical token", "Contract of the canonical form of the minted token. Optional.", needed=False
    )
    vault_version = WholeField("Vault version", default=2)
    bridge_version = WholeField(
        "Bridge version",
        "Between two pegged chains of a token, both with version 2, transfers are burned and minted.",
        default=2,
    )
    deposit_base_fee = AmountField(
        "Base fee to the pegged chain",
        "In the pegged chain's token. Leave empty if not known: no estimates are given.",
        unit_of=_PEGGED,
        needed=False,
        default="0",
    )
    burn_base_fee = AmountField(
        "Base fee back to the original chain",
        "In the original chain's token. Leave empty if not known: no estimates are given.",
        unit_of=_ORIGINAL,
        needed=False,
        default="0",
    )
    perc_fee_tiers = TiersField(unit_of=_ORIGINAL)
    min_deposit = AmountField(
        "Minimum deposit",
        "The vault's minDeposit plus 1. Leave empty for the minimum of the token on the original chain.",
        unit_of=_ORIGINAL,
        needed=False,
    )
    max_deposit = AmountField(
        "Maximum deposit",
        "The vault's maxDeposit. Leave empty, also where that is 0, for the maximum of the token on the "
        "original chain.",
        unit_of=_ORIGINAL,
        needed=False,
    )
    min_burn = AmountField(
        "Minimum burn",
        "The bridge's minBurn plus 1. Leave empty for the minimum of the token on the pegged chain.",
        unit_of=_PEGGED,
        needed=False,
    )
    max_burn = AmountField(
        "Maximum burn",
        "The bridge's maxBurn. Leave empty, also where that is 0, for the maximum of the token on the "
        "pegged chain.",
        unit_of=_PEGGED,
        needed=False,
    )
    org_token = PairTokenField("Original token")
    pegged_token = PairTokenField("Pegged token")


class BlockedAddressForm(RowForm):
    """An account that gets no estimate."""

    address = LineField("Address")
    reason = NoteField("Reason", "For operators only. Users never see it.")
    source = LineField("Source", "The list or case that it comes from.", needed=False)
    expires_at = EndField()


class BlockedNetworkForm(RowForm):
    """Callers that get no estimate."""

    cidr = LineField("Network")
    reason = NoteField("Reason", "For operators only. Users never see it.")
    expires_at = EndField()
