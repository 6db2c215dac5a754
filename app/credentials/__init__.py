"""API keys of integrators and tokens of reporters."""
