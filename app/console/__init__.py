"""The console's shell: access, lists, forms and messages. It knows no feature."""
