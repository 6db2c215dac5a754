"""A database is lost and restored, the feed is sent again, and every answer is as before."""
