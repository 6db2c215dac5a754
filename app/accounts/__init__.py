"""Operators of the console: accounts, sign-in, sessions, second factors, proposals."""
