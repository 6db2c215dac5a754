"""Refund evidence: the request, its signatures, the quorum, and the call that the contract takes."""
