"""The keys of integrators: what they look like, and what their bearers may do."""

from app.domain.api_keys.key import ApiKey, Scope

__all__ = ["ApiKey", "Scope"]
