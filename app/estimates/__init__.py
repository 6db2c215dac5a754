"""Estimates: the cost of a transfer, and the amount that its receiver would get."""
