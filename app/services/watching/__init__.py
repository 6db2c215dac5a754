"""Reading chains: who reads which, how far, what was found, and what operators see of it."""
