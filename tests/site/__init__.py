"""The documentation as a site, and the snippets in it."""
