"""The network configuration: its document, its snapshot in memory, and operators' edits of it."""
