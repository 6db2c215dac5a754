"""Reading chains: leases, steps, what is configured, what operators see and switch."""
