"""Keys and tokens: made, replaced, revoked, recognised, counted."""
