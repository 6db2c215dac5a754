// The page's colours, light or dark: as the system says, until the reader chooses.
"use strict";

const COLOURS = {
  light: {
    "bg-color": "#ffffff",
    "text-color": "#1f2733",
    "primary-color": "#1c64d1",
    "nav-bg-color": "#f4f6f9",
    "nav-text-color": "#38424f",
    "nav-hover-bg-color": "#e6ebf2",
    "nav-hover-text-color": "#1c64d1",
    "nav-accent-color": "#1c64d1",
    "nav-accent-text-color": "#ffffff",
  },
  dark: {
    "bg-color": "#12161d",
    "text-color": "#dbe2ec",
    "primary-color": "#6ea8ff",
    "nav-bg-color": "#0c0f14",
    "nav-text-color": "#b6c0ce",
    "nav-hover-bg-color": "#1b222c",
    "nav-hover-text-color": "#ffffff",
    "nav-accent-color": "#6ea8ff",
    "nav-accent-text-color": "#0c0f14",
  },
};
const KEY = "docs-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    const kept = window.localStorage.getItem(KEY);
    return kept in COLOURS ? kept : null;
  } catch {
    return null; // storage is switched off
  }
}

function current() {
  return chosen() ?? (system.matches ? "dark" : "light");
}

function paint() {
  const theme = current();
  document.documentElement.dataset.theme = theme;
  const doc = document.getElementById("doc");
  doc.setAttribute("theme", theme);
  for (const [name, value] of Object.entries(COLOURS[theme])) {
    doc.setAttribute(name, value);
  }
}

// The renderer's light blue and green are too pale to be read on white; it has no attribute for them.
async function deepen() {
  await customElements.whenDefined("rapi-doc");
  const doc = document.getElementById("doc");
  await doc.updateComplete;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host([theme="light"]) *, :host([theme="light"]) *::before { --blue: #1c64d1 !important; --green: #3b6e00 !important;
      --nav-get-color: #1c64d1 !important; --nav-post-color: #3b6e00 !important;
    }
  `);
  doc.shadowRoot.adoptedStyleSheets = [...doc.shadowRoot.adoptedStyleSheets, sheet];
}

document.addEventListener("DOMContentLoaded", () => {
  const narrow = window.matchMedia("(max-width: 767px)").matches;
  if (narrow) {
    // There is no room for the list of operations: show them all below each other.
    document.getElementById("doc").setAttribute("render-style", "read");
  }
  paint();
  deepen();
  system.addEventListener("change", paint);
  document.getElementById("theme").addEventListener("click", () => {
    try {
      window.localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
    } catch {
      return;
    }
    paint();
  });
});
