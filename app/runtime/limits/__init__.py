"""How often may they? Limits of requests and of refund asks, counted in windows of time."""
