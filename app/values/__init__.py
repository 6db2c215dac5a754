"""Values that every feature shares. Pure: no input or output, no framework, no table."""
