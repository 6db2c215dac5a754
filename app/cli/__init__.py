"""Commands of flask --app wsgi."""
