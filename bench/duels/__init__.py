"""Two contestants measured in turns, second by second: what is known about the ratio of their figures."""
