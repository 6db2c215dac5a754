"""The documentation for people and programs: the site, the page to try requests, OpenAPI."""
