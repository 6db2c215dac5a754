"""Those who wait for a transfer to change: answers that come later, and streams of events."""
