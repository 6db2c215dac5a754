"""What stops the building of the site."""


class CannotBuild(Exception):
    """The site was not built; what was there before still is. The text says why."""
