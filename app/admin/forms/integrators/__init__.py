"""Forms about what integrators are given."""
