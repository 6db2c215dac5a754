"""From the logs of contracts to the events of the feed."""
