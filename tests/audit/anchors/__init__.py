"""Heads of the audit log that are noted outside of the database."""
