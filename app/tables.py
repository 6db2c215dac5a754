"""Every table of the database: importing this module registers them all."""

import app.accounts.models
import app.audit.models
import app.credentials.models
import app.db.models
import app.estimates.models
import app.feed.models
import app.latency.models
import app.network.models
import app.refunds.models
import app.transfers.models
import app.watcher.models
import app.webhooks.models  # noqa: F401
