"""The use cases of the feed: ingest, replay, retraction, pruning."""
