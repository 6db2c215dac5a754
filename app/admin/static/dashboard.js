// The chart of estimates. Answered and refused differ in pattern as well as in colour.
"use strict";
(() => {
  const canvas = document.getElementById("estimates-chart");
  if (!canvas || !window.Chart) return;
  const minutes = JSON.parse(canvas.dataset.minutes);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

  const hatched = (ink, ground) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const draw = tile.getContext("2d");
    draw.fillStyle = ground;
    draw.fillRect(0, 0, 6, 6);
    draw.strokeStyle = ink;
    draw.lineWidth = 1.6;
    draw.beginPath();
    draw.moveTo(-1, 7);
    draw.lineTo(7, -1);
    draw.stroke();
    return draw.createPattern(tile, "repeat");
  };

  const dataset = (label, key, fill, border) => ({
    label, data: minutes.map((minute) => minute[key]), backgroundColor: fill, borderColor: border, borderWidth: 1, stack: "all",
  });

  let chart;
  const draw = () => {
    if (chart) chart.destroy();
    const axis = { grid: { color: colour("--line") }, ticks: { color: colour("--faint"), precision: 0, maxRotation: 0 }, stacked: true };
    chart = new window.Chart(canvas, {
      type: "bar",
      data: {
        labels: minutes.map((minute) => clock.format(new Date(minute.at))),
        datasets: [
          dataset("answered", "answered", colour("--accent"), colour("--accent")),
          dataset("refused", "refused", hatched(colour("--bad"), colour("--bad-soft")), colour("--bad")),
        ],
      },
      options: {
        animation: false, maintainAspectRatio: false,
        scales: { x: { ...axis, grid: { display: false }, ticks: { ...axis.ticks, maxTicksLimit: 8 } }, y: { ...axis, beginAtZero: true } },
        plugins: { legend: { labels: { color: colour("--text") } } },
      },
    });
  };
  draw();
  document.addEventListener("themechange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
