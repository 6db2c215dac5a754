"""The counts and the middles of latencies, moved along with every transfer that is released or taken back."""
