"""What the feed reads: the event log, what follows from it, and what judging and folding need."""
