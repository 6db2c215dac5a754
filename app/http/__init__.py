"""What requests over HTTP and their answers share. It knows no feature."""
