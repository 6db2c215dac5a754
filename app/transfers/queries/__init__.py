"""Every select about transfers that only reads."""
