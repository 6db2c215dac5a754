"""Two local EVM chains with contracts of our own, for ``make demo`` and for the watcher's tests."""
