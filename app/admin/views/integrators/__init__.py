"""The pages of what integrators are given: their keys."""
