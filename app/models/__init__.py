"""SQLAlchemy tables, one aggregate a file."""
