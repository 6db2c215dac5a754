"""The event feed: lines are read, validated, stored, projected; replayed, retracted, verified, pruned."""
