"""What backfills look at, and how far they are."""
