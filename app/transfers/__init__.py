"""Transfers: their events, what of them counts, the status that follows, and who looks at them."""
