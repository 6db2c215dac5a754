"""One transfer, lists of transfers, their log, their anomalies and their number."""
