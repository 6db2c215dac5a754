"""What is kept of reading chains."""
