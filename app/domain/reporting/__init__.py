"""Who may report what: ingest tokens and their scopes."""
