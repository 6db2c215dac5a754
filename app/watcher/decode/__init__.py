"""From a log's bytes to the values of one event of the contracts."""
