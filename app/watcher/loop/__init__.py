"""The loop that reads chains: what is asked next, the steps that come of it, and who writes them when."""
