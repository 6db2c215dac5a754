"""The keys of integrators: made, revoked, recognised."""
