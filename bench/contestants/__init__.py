"""Comparisons for our answers: the least work that each kind of server can do."""
