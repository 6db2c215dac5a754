"""Keys and tokens are replaced without a moment in which neither works."""
