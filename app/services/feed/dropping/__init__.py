"""What leaves the log though it is about no transfer: heads by themselves, the rest when it is pruned."""
