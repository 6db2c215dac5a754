"""What a fault costs: all that serves, a steady load on it, and one part after the other taken away."""
