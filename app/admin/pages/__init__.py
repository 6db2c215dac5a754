"""What the operators' console shows: read here, laid out there. Nothing here writes."""
