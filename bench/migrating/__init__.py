"""What a migration does to those who use the database meanwhile."""
