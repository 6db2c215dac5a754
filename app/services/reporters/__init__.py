"""Who may report: ingest tokens made, replaced, revoked, recognised and charged."""
