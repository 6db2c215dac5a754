"""Accounts of the console: who they are, their sessions, their failed sign-ins."""
