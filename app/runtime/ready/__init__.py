"""What readiness rests on: the schema, the clock, the age of the feeds."""
