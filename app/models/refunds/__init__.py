"""What is kept about refunds beside the facts."""
