"""The public shape of the transfer configs: chains, tokens, pegged pairs, blocked directions."""

from __future__ import annotations

from marshmallow import fields

from app.http.schemas import Answer, Shape, describe


class Chain(Shape):
    """A chain, as transfers name it: the fields of the message."""

    id = fields.Integer(metadata=describe("Chain id.", 1))
    name = fields.String(metadata=describe("Display name.", "Ethereum"))
    icon = fields.String(metadata=describe("URL of an icon, or empty."))
    block_delay = fields.Integer(metadata=describe("Blocks that a transfer waits on this chain.", 12))
    gas_token_symbol = fields.String(metadata=describe("Symbol of the gas token.", "ETH"))
    explore_url = fields.String(metadata=describe("Block explorer.", "https://etherscan.io"))
    contract_addr = fields.String(
        metadata=describe("Pool bridge contract.", "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820")
    )
    drop_gas_amt = fields.String(
        metadata=describe("Amount of the gas token dropped to receivers, in smallest units.", "0")
    )


class ChainConfig(Chain):
    """A chain."""

    drop_gas_cost_amt = fields.String(metadata=describe("Cost of the gas drop, as configured.", "0"))
    drop_gas_balance_alert = fields.String(metadata=describe("As configured.", "0"))
    suggested_gas_cost = fields.String(
        metadata=describe("Suggested gas cost of a transfer on this chain, as configured.", "213522")
    )
    flat_usd_fee = fields.Float(metadata=describe("A fee in US dollars, as configured.", 0.5))
    farming_reward_contract_addr = fields.String(metadata=describe("Farming reward contract, or empty."))
    transfer_agent_contract_addr = fields.String(metadata=describe("Transfer agent contract, or empty."))
    disabled = fields.Boolean(metadata=describe("Whether the chain is disabled.", False))


class Token(Shape):
    """A token on one chain."""

    symbol = fields.String(metadata=describe("Symbol, the same on every chain.", "USDT"))
    address = fields.String(metadata=describe("Contract.", "0xdAC17F958D2ee523a2206206994597C13D831ec7"))
    decimal = fields.Integer(metadata=describe("Decimals.", 6))
    xfer_disabled = fields.Boolean(
        metadata=describe(
            "In chain_token: true if it is not sent through the pool. In a pair: true if the pair is "
            "disabled.",
            False,
        )
    )


class TokenInfo(Shape):
    """A token with its limits."""

    token = fields.Nested(Token)
    name = fields.String(metadata=describe("Display name.", "Tether USD"))
    icon = fields.String(metadata=describe("URL of an icon, or empty."))
    inbound_lmt = fields.String(metadata=describe("The pool's total cap, smallest units; empty if none."))
    inbound_epoch_cap = fields.String(metadata=describe("The pool's epoch volume cap; empty if none."))
    transfer_disabled = fields.Boolean(
        metadata=describe("Whether all transfers of the token, or its chain, are disabled.", False)
    )
    liq_add_disabled = fields.Boolean(metadata=describe("As configured.", False))
    liq_rm_disabled = fields.Boolean(metadata=describe("As configured.", False))
    liq_agg_rm_src_disabled = fields.Boolean(metadata=describe("As configured.", False))
    delay_threshold = fields.String(
        metadata=describe(
            "Payouts above this amount wait in the contract's delay queue; smallest units, empty if none."
        )
    )
    delay_period = fields.Integer(metadata=describe("How long such a payout waits, in seconds.", 0))
    min_send = fields.String(
        metadata=describe("Minimum amount of a transfer from this chain; empty if none.")
    )
    max_send = fields.String(
        metadata=describe("Maximum amount of a transfer from this chain; empty if none.")
    )


class ChainTokens(Shape):
    """The tokens of one chain."""

    token = fields.List(fields.Nested(TokenInfo))


class PeggedPair(Shape):
    """A token locked on its original chain and minted on another."""

    org_chain_id = fields.Integer(metadata=describe("Original chain.", 1))
    org_token = fields.Nested(TokenInfo)
    pegged_chain_id = fields.Integer(metadata=describe("Chain on which the pegged token is minted.", 56))
    pegged_token = fields.Nested(TokenInfo)
    pegged_deposit_contract_addr = fields.String(metadata=describe("Vault, on the original chain."))
    pegged_burn_contract_addr = fields.String(metadata=describe("Token bridge, on the pegged chain."))
    canonical_token_contract_addr = fields.String(metadata=describe("Canonical token, or empty."))
    vault_version = fields.Integer(metadata=describe("Version of the vault contract.", 2))
    bridge_version = fields.Integer(metadata=describe("Version of the bridge contract.", 2))
    migration_peg_burn_contract_addr = fields.String(metadata=describe("As configured, or empty."))


class BlockedDirection(Shape):
    """A token that cannot be transferred in one direction."""

    symbol = fields.String(metadata=describe("Token symbol.", "USDT"))
    src_chain_id = fields.String(metadata=describe("Source chain, in digits.", "1"))
    dst_chain_id = fields.String(metadata=describe("Destination chain, in digits.", "137"))


class ConfigsAnswer(Answer):
    """What can be transferred where."""

    chains = fields.List(fields.Nested(ChainConfig), dump_default=list)
    chain_token = fields.Dict(
        keys=fields.String(),
        values=fields.Nested(ChainTokens),
        dump_default=dict,
        metadata=describe("By chain id, with an entry for every chain."),
    )
    farming_reward_contract_addr = fields.String(
        dump_default="", metadata=describe("Farming reward contract, or empty.")
    )
    pegged_pair_configs = fields.List(fields.Nested(PeggedPair), dump_default=list)
    blocked_bridge_direct = fields.List(fields.Nested(BlockedDirection), dump_default=list)
    redirect_to_aggregators_config = fields.List(
        fields.Raw(), dump_default=list, metadata=describe("As configured.")
    )
