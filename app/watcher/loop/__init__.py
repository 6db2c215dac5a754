"""Chooses what to read next, makes its steps, and runs the thread of each chain under its lease."""
