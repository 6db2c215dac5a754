"""The status of transfers, and acknowledging their anomalies."""
