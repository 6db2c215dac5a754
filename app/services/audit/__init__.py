"""The audit log: recorded in the transaction of the change, read, and verified."""
