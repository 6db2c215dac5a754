"""What the HTTP doors share: headers, preflights, the caller, and errors."""
