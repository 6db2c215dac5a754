"""Errors that stop the building of the site."""


class CannotBuild(Exception):
    """The site was not built; a former one stays. The text says why."""
