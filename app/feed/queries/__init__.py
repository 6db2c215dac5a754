"""What ingest, projection, replay and pruning need to know."""
