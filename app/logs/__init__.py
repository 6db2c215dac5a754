"""What the process writes to its log: lines for people or JSON for programs, without anything secret."""
