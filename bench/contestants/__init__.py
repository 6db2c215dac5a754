"""What our answers are measured against: the least that each way of serving can do."""
