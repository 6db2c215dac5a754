"""Subscribing to webhooks with an API key: the shapes, and what they are read into."""
