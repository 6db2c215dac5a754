"""Metrics for Prometheus: what workers count, and what is asked when somebody looks (docs/metrics.md).

Workers count into files of their own, which prometheus-client maps into memory; the one that is asked
reads the files of all (docs/decisions/0047-metrics.md).
"""
