"""Projects events onto transfers, refunds, pools and latencies."""
