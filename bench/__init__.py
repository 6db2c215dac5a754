"""Benchmarks: ratios against floors measured in the same run. Nothing here is a test."""
