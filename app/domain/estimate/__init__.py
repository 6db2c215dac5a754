"""What would a transfer cost: from inputs to an answer or a refusal."""
