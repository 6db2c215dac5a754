"""The audit log: who changed what, in a chain of sealed records."""
