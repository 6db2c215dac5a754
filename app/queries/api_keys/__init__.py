"""The keys of integrators, and how much they were used."""
