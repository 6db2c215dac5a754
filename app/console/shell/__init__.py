"""What every page of the console is made of: access, lists, forms and messages."""
