"""The gateway behind a real PgBouncer that shares connections between transactions."""
