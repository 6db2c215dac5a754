"""One use case a file. No request, no HTTP."""
