"""What tests make up: events as reporters send them, networks as operators import them."""
