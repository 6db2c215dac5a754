"""The edge towards the nodes of chains: JSON-RPC over HTTP, a node for each URL, and who is asked first."""
