"""Passwords, one-time codes, passkeys, recovery codes and sessions of the console."""
