"""The same applications as the tests of HTTP have."""

from tests.api.conftest import app, client, client_class, open_app

__all__ = ["app", "client", "client_class", "open_app"]
