"""Accounts of any chain, compared without regard to letter case (docs/interface.md#usr-addr)."""

from __future__ import annotations


def account_key(account: str) -> str:
    """What equal accounts have in common, however they are written; up to three times as long."""
    return account.casefold()
