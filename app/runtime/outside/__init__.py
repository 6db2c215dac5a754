"""What is kept outside of the database: backups of it, and heads of the audit log."""
