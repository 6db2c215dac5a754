"""What readers of the pages copy: every block of code, run as it stands."""
