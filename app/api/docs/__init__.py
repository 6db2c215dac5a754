"""What is served for people and programs that learn the gateway: the site, the page to try requests, OpenAPI."""
