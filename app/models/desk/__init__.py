"""What operators keep for their own work, beside the facts."""
