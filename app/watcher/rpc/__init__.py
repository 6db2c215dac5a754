"""Requests to nodes: JSON-RPC over HTTP, a node for each URL, the order in which they are used."""
