"""The keys of integrators, and how much each was used."""

from app.models.api_keys.keys import LIMIT_LENGTH, ApiKey, ApiKeyUse

__all__ = ["LIMIT_LENGTH", "ApiKey", "ApiKeyUse"]
