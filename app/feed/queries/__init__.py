"""The queries of ingest, projection, replay and pruning."""
