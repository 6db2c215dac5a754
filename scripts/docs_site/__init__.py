"""The documentation as a site: one text for readers of the repository and of ``/docs``."""
