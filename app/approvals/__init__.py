"""What can be proposed, previewed again and approved by a second person."""
