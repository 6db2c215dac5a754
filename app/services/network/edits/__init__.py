"""Edits of the network configuration by operators: checked, previewed, saved and recorded."""
