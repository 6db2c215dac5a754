"""Edits of the network configuration by operators: checked, shown before they bite, recorded."""
