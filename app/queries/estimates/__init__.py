"""What estimates are priced by, and how many were asked for."""
