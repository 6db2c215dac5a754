"""What the configuration was: the history of its rows, itself at a time, and who stopped a chain."""
