"""What reading chains is about: blocks and logs as nodes tell them, and what is kept of the reading."""
