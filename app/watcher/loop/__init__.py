"""What is read next, the steps that come of it, the thread of each chain and its lease."""
