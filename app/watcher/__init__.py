"""Watching chains: from the answers of nodes to the steps that the services write."""
