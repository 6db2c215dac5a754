"""Every case of tests/api/test_estimate.py, asked over both doors."""

from tests.api.test_estimate import *  # noqa: F403  also the cases still to come
from tests.grpcweb.parity import client_class, something_was_compared  # noqa: F401  fixtures
