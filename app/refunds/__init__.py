"""Refunds: the request that validators sign, its evidence, the contract call, and what users request."""
