"""Servers of this run, the load on them, and the events that they are sent: for tests and for bench/."""
