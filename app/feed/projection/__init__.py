"""What an event does to transfers, refunds, pools and latencies."""
