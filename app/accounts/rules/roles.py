"""The roles of accounts."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What an account may do; each role may also do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def may_act_as(self, needed: Role) -> bool:
        """Whether this role is enough where ``needed`` is required."""
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)
