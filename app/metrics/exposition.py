"""All metrics of a server in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric

from app.metrics.files import MetricFiles
from app.metrics.process import CONFIG_GOOD_AT
from app.metrics.state import StateMetrics

CONTENT_TYPE: Final[str] = CONTENT_TYPE_PLAIN_0_0_4


class Exposition:
    """What somebody who looks is told."""

    def __init__(
        self,
        files: MetricFiles | None,
        state: StateMetrics,
        ready: Callable[[], bool],
        version: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        :param files: what workers count into; None where nothing is counted.
        :param ready: whether the gateway can serve. It answers soon.
        :param version: of this code.
        :param monotonic: the clock that workers note times by: one for all processes of a machine.
        """
        self._files = files
        self._state = state
        self._ready = ready
        self._version = version
        self._monotonic = monotonic

    def text(self) -> bytes:
        """Everything, in UTF-8."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterable[Metric]:
        """For the library."""
        yield GaugeMetricFamily("gateway_ready", "1 while it can serve, as /readyz says", value=self._ready())
        build = GaugeMetricFamily("gateway_build_info", "Which version runs", labels=("version",))
        build.add_metric((self._version,), 1)
        yield build
        if self._files is not None:
            yield from self._counted(self._files)
        yield from self._state.collect()

    def _counted(self, files: MetricFiles) -> Iterable[Metric]:
        for metric in files.collected():
            if metric.name == CONFIG_GOOD_AT:
                oldest = min((sample.value for sample in metric.samples), default=None)
                if oldest is not None:
                    yield GaugeMetricFamily(
                        "gateway_config_age_seconds",
                        "Since the configuration was known to be the newest, of the worker with the oldest",
                        value=max(0.0, self._monotonic() - oldest),
                    )
            else:
                yield metric
