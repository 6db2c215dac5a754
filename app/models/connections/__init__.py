"""What connections to the database do by themselves: how they are shared, opened, and given up."""
