"""Rules about the events of a transfer: its status, evidence, anomalies, and whether it is stuck."""
