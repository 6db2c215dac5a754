"""Every select of the answering path, one file a question."""
