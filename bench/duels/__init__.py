"""Two contestants measured in turns, second by second: what may be said about the ratio of their figures."""
