"""The event feed: lines in, facts kept and folded, one verdict out."""
