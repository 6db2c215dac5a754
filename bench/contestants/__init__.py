"""What our answers are measured against: the least work that each kind of server can do."""
