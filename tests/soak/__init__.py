"""Whether the shipped server stays as it is while it is used for a long time."""
