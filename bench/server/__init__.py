"""How the shipped server bears many, slow, idle and busy clients."""
