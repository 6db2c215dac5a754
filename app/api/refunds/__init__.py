"""The shapes of asking for a refund."""
