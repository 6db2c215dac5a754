"""Keys and tokens in the console."""
