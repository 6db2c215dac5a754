"""What operators fill in: fields, forms, and how their values are read."""
