"""What the HTTP doors share."""
