"""Every select that reads, one question a file: given a connection, answered in rows or dataclasses."""
