"""Changes that are proposed, previewed again and approved by a second person."""
