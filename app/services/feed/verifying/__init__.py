"""What is projected is compared with the log that it follows from, part by part; what differs is repaired."""
