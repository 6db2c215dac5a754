"""How the schema changes while the gateway serves (docs/decisions/0052-migrations-under-load.md)."""
