"""What is believed of a chain, decided without a node, a database or a clock."""
