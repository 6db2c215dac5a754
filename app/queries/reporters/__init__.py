"""Who reports events: ingest tokens, and what was last accepted from each."""
