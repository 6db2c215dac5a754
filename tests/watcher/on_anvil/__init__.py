"""The watcher on real EVMs: two local nodes, contracts of our own."""
