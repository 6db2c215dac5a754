"""The edge towards the nodes of chains: JSON-RPC over HTTP, one node a URL, and the order in which they are asked."""
