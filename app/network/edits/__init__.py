"""Edits by operators, of one row or of several, with a preview and a check for conflicts."""
