"""What people and programs learn the gateway from: the site, the page to try requests, OpenAPI."""
