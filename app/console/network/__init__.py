"""The network document in the console, a section a file."""
