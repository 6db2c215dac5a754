"""The commands of operators: one module for each feature, and helpers for the terminal."""
