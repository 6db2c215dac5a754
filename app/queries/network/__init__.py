"""The network configuration: its rows, versions, names and blocked accounts."""
