"""Accounts of the console, their sessions and their failed sign-ins."""
