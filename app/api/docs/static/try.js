// The page's colours, light or dark: as the system says, until the reader chooses. They are those of the console,
// which keeps the choice under the same key.
"use strict";

const COLOURS = {
  light: {
    "bg-color": "#f6f7f9",
    "text-color": "#1b2430",
    "primary-color": "#0f6b64",
    "nav-bg-color": "#ffffff",
    "nav-text-color": "#1b2430",
    "nav-hover-bg-color": "#f1f3f6",
    "nav-hover-text-color": "#0b544f",
    "nav-accent-color": "#0f6b64",
    "nav-accent-text-color": "#ffffff",
  },
  dark: {
    "bg-color": "#11161d",
    "text-color": "#e4e9f0",
    "primary-color": "#4fc3b6",
    "nav-bg-color": "#19202a",
    "nav-text-color": "#e4e9f0",
    "nav-hover-bg-color": "#202936",
    "nav-hover-text-color": "#74d6cb",
    "nav-accent-color": "#4fc3b6",
    "nav-accent-text-color": "#06201e",
  },
};
const KEY = "console-theme";
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
    :host([theme="light"]) *, :host([theme="light"]) *::before { --blue: #1f4f9a !important; --green: #14622f !important;
      --nav-get-color: #1f4f9a !important; --nav-post-color: #14622f !important;
    }
  `);
  doc.shadowRoot.adoptedStyleSheets = [...doc.shadowRoot.adoptedStyleSheets, sheet];
}

// The renderer's fields have no labels, and its lists no names. It draws in shadow roots, one within another.
const FIELDS = "input, select, textarea, tag-input";
const watched = new WeakSet();

function nameOf(field, root) {
  const parameter = field.dataset.pname ?? root.host?.dataset.pname;
  if (parameter) return parameter;
  if (field.localName === "select") {
    return [...field.options].some(option => option.value.includes("/")) ? "Content type" : "Example";
  }
  return field.placeholder || (field.localName === "textarea" ? "Body of the request" : "Value");
}

function nameFields(root) {
  for (const element of root.querySelectorAll("*")) {
    if (element.shadowRoot) watch(element.shadowRoot);
  }
  for (const field of root.querySelectorAll(FIELDS)) {
    if (!field.hasAttribute("aria-label") && !field.labels?.length) {
      field.setAttribute("aria-label", nameOf(field, root));
    }
  }
  for (const list of root.querySelectorAll("nav:not([aria-label])")) {
    list.setAttribute("aria-label", list.querySelector("nav") ? "Menu" : "Operations");
  }
}

function watch(root) {
  if (watched.has(root)) return;
  watched.add(root);
  let due = false;
  const later = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      nameFields(root);
    });
  };
  new MutationObserver(later).observe(root, { childList: true, subtree: true });
  later();
}

document.addEventListener("DOMContentLoaded", () => {
  const narrow = window.matchMedia("(max-width: 767px)").matches;
  if (narrow) {
    // There is no room for the list of operations: show them all below each other.
    document.getElementById("doc").setAttribute("render-style", "read");
  }
  paint();
  deepen();
  watch(document.body);
  system.addEventListener("change", paint);
  for (const button of document.querySelectorAll(".theme")) {
    button.addEventListener("click", () => {
      try {
        window.localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
      } catch {
        return;
      }
      paint();
    });
  }
});
