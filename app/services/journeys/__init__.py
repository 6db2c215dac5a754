"""A transfer told to the person who waits for it: its course, its pace, and how a refund is claimed."""
