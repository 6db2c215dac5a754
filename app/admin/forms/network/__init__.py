"""Forms about more than one row: a chain with all that belongs to it, a document, several chains."""
