"""Filling what migrations add, a range of keys at a time, while everything goes on."""
