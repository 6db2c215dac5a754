"""The event feed: ingest (read, load, judge, write), prune, replay, retract, and who may report."""
