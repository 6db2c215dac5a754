// Charts of the dashboard. Bars differ in pattern as well as in colour, so that they can be told apart without it.
"use strict";
// A tile leads to its panel, which may be closed.
(() => {
  const openTarget = () => {
    const closed = document.getElementById(location.hash.slice(1))?.querySelector(":scope > .panel");
    if (closed) closed.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();
})();
(() => {
  if (!window.Chart) return;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { day: "2-digit", month: "short", timeZone: "UTC" });
  const drawn = new WeakMap();

  const pattern = (ink, ground, lines) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const draw = tile.getContext("2d");
    draw.fillStyle = ground;
    draw.fillRect(0, 0, 6, 6);
    draw.strokeStyle = draw.fillStyle = ink;
    draw.lineWidth = 1.6;
    lines(draw);
    return draw.createPattern(tile, "repeat");
  };
  const line = (draw, ...points) => {
    draw.beginPath();
    draw.moveTo(points[0], points[1]);
    draw.lineTo(points[2], points[3]);
    draw.stroke();
  };

  // By the look that the server names: solid, hatched, dotted, crossed.
  const looks = {
    done: () => ({ backgroundColor: colour("--accent"), borderColor: colour("--accent") }),
    bad: () => ({
      backgroundColor: pattern(colour("--bad"), colour("--bad-soft"), (draw) => line(draw, -1, 7, 7, -1)),
      borderColor: colour("--bad"),
    }),
    busy: () => ({
      backgroundColor: pattern(colour("--busy"), colour("--busy-soft"), (draw) => draw.fillRect(2, 2, 2, 2)),
      borderColor: colour("--busy"),
    }),
    warn: () => ({
      backgroundColor: pattern(colour("--warn"), colour("--warn-soft"), (draw) => line(draw, 0, 3, 6, 3)),
      borderColor: colour("--warn"),
    }),
  };

  const configuration = (told) => {
    const axis = { grid: { color: colour("--line") }, border: { color: colour("--line-strong") }, ticks: { color: colour("--faint"), precision: 0, maxRotation: 0 } };
    const datasets = told.bars.map(({ label, look, values }) => ({
      label, data: values, ...looks[look](), borderWidth: 1, stack: "all", order: 2, pointStyle: "rect",
    }));
    const scales = {
      x: { ...axis, stacked: true, grid: { display: false }, ticks: { ...axis.ticks, maxTicksLimit: 8 } },
      y: { ...axis, stacked: true, beginAtZero: true },
    };
    if (told.line) {
      datasets.push({
        label: `${told.line.label} (%, right axis)`, data: told.line.values, type: "line", yAxisID: "share", order: 1, clip: false, showLine: told.unit === "day",
        borderColor: colour("--text"), backgroundColor: colour("--card"), borderWidth: 1.6, pointRadius: 4, pointStyle: "rectRot",
      });
      scales.share = { ...axis, position: "right", min: 0, max: 100, grid: { display: false } };
    }
    const written = told.unit === "day" ? day : clock;
    return {
      type: "bar",
      data: { labels: told.at.map((at) => written.format(new Date(at))), datasets },
      options: {
        animation: false, maintainAspectRatio: false, interaction: { mode: "index", intersect: false }, scales,
        plugins: { legend: { labels: { color: colour("--text"), usePointStyle: true, pointStyleWidth: 22 } } },
      },
    };
  };

  const draw = (canvas) => {
    const { data, options, type } = configuration(JSON.parse(canvas.dataset.chart));
    const chart = drawn.get(canvas);
    if (!chart) {
      drawn.set(canvas, new window.Chart(canvas, { type, data, options }));
      return;
    }
    chart.data = data;
    chart.options = options;
    chart.update("none");
  };
  const drawAll = (root) => root.querySelectorAll("canvas[data-chart]").forEach(draw);

  drawAll(document);
  const again = () => drawAll(document);
  document.addEventListener("themechange", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  document.addEventListener("contentchange", (event) => drawAll(event.target));
})();
