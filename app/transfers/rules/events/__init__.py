"""Events that reporters send about a transfer: how they are read, stored and merged, and which count."""
