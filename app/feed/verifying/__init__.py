"""What is projected compared with the log, part by part, and repaired."""
