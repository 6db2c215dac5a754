"""What to look at twice before an account is blocked: texts that look like none, and our own contracts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection

from app.domain.amounts import grouped
from app.domain.crypto import checksum_address, parse_evm_address
from app.domain.keys import account_key
from app.models.network import Chain, PeggedPair, Token
from app.queries.network import load_rows
from app.services.network.edits.results import Effect, Severity

SHOWN: Final = 10
"""Accounts that are named one by one."""

_HASH: Final = re.compile(r"0[xX][0-9a-fA-F]{64}", re.ASCII)
_OF_PAIRS: Final = (
    ("pegged_deposit_contract_addr", "vault"),
    ("pegged_burn_contract_addr", "bridge"),
    ("canonical_token_contract_addr", "canonical token"),
    ("migration_peg_burn_contract_addr", "earlier bridge"),
)
_LISTS_OF_PAIRS: Final = (("deposit_contracts", "further vault"), ("burn_contracts", "further bridge"))
_OF_CHAINS: Final = (
    ("contract_addr", "bridge contract"),
    ("farming_reward_contract_addr", "farming contract"),
    ("transfer_agent_contract_addr", "transfer agent"),
)


def account_doubts(connection: Connection, typed: Collection[str]) -> Iterator[Effect]:
    """Warnings about accounts that are to be blocked.

    :param typed: as they were typed: the letter case of an EVM address holds its checksum.
    """
    own = _own_contracts(connection)
    ours = [f"{text}: {own[account_key(text)]}" for text in typed if account_key(text) in own]
    if ours:
        yield _effect(ours, "is one of our contracts", "are our own contracts", Severity.GRAVE)
    none = [f"{text}: {reason}" for text in typed if (reason := _why_no_account(text))]
    if none:
        yield _effect(none, "does not look like an account", "do not look like accounts", Severity.NOTICE)


def _effect(lines: list[str], one: str, several: str, severity: Severity) -> Effect:
    shown = lines[:SHOWN] + ([f"and {grouped(len(lines) - SHOWN)} more"] if len(lines) > SHOWN else [])
    if len(lines) == 1:
        text, _, reason = lines[0].partition(": ")
        return Effect(f"{text} {one}: {reason}", severity)
    return Effect(f"{grouped(len(lines))} of these {several}", severity, tuple(shown))


def _why_no_account(text: str) -> str:
    """Why a text looks like no account; empty where it looks like one."""
    raw = parse_evm_address(text)
    if raw is None:
        if _HASH.fullmatch(text):
            return "32 bytes are a transaction hash or a transfer ID on most chains"
        return "it is not an EVM address; check that the chain uses such accounts"
    if not any(raw):
        return "it is the zero address"
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper()) and checksum_address(raw)[2:] != digits:
        return "its checksum is wrong, so it probably has a typing error"
    return ""


def _own_contracts(connection: Connection) -> dict[str, str]:
    """What each configured contract is, by its account key."""
    chains = load_rows(connection, Chain)
    names = {row["chain_id"]: row["name"] for row in chains}
    found: dict[str, str] = {}
    every = (
        *((row[column], f"the {what} of {row['name']}") for row in chains for column, what in _OF_CHAINS),
        *(
            (row["address"], f"the token {row['symbol']} on {names[row['chain_id']]}")
            for row in load_rows(connection, Token)
        ),
        *(of for row in load_rows(connection, PeggedPair) for of in _of_pair(row, names)),
    )
    for address, what in every:
        if address:
            found.setdefault(account_key(address), what)
    return found


def _of_pair(row: Mapping[str, Any], names: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    pair = f"{row['symbol']} from {names[row['org_chain_id']]} to {names[row['pegged_chain_id']]}"
    for column, what in _OF_PAIRS:
        yield row[column], f"the {what} of {pair}"
    for column, what in _LISTS_OF_PAIRS:
        yield from ((address, f"a {what} of {pair}") for address in row[column])
    for side in ("org_token", "pegged_token"):
        yield row[side].get("address", ""), f"a token of {pair}"
