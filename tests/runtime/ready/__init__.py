"""The same rooms as app/runtime/ready."""
