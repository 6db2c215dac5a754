// The form for each operation. The page is light or dark as the system says, until the reader chooses; the console
// stores the choice under the same key.
"use strict";

const KEY = "console-theme";
const THEMES = ["light", "dark"];
const system = window.matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try {
    const stored = window.localStorage.getItem(KEY);
    return THEMES.includes(stored) ? stored : null;
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
  document.documentElement.classList.toggle("dark-mode", theme === "dark"); // of the viewer
}

// A reader needs no regular expressions, no name that the path says, and a key only where the operation requires one.
// What the gateway posts cannot be tried.
function shown(description) {
  const { security, info, webhooks, ...rest } = description;
  return JSON.parse(JSON.stringify({ info: { ...info, description: "" }, ...rest }), function (name, value) {
    if (name === "pattern" && typeof value === "string") return undefined;
    if (name === "summary" && typeof value === "string") return value.replace(/^\w+( by [A-Z]+)?: /, "");
    return value;
  });
}

async function draw() {
  const place = document.getElementById("doc");
  const answer = await fetch(place.dataset.document);
  SwaggerUIBundle({
    domNode: place,
    spec: shown(await answer.json()),
    deepLinking: true,
    defaultModelsExpandDepth: -1,
    docExpansion: "list",
    displayRequestDuration: true,
    responseInterceptor: response => {
      answered = executed;
      return response;
    },
    tryItOutEnabled: true,
    validatorUrl: null,
  });
}

// The operation whose button was pressed last, and the one whose answer came and is not yet in view.
let executed = null;
let answered = null;
document.addEventListener("click", event => {
  const pressed = event.target.closest?.(".execute");
  if (pressed) executed = pressed.closest(".opblock");
});

function showAnswer() {
  const answer = answered?.querySelector(".live-responses-table");
  if (!answer) return;
  answered = null;
  answer.scrollIntoView({ block: "start" });
}

// What screen readers need and the viewer lacks: names of its lists, headings in order, one link or button at a place.
function mend() {
  for (const heading of document.querySelectorAll("#doc h3.opblock-tag")) heading.setAttribute("aria-level", "2");
  for (const heading of document.querySelectorAll("#doc :is(h4, h5)")) heading.setAttribute("aria-level", "3");
  for (const link of document.querySelectorAll("#doc .opblock-summary-path a")) link.replaceWith(...link.childNodes);
  for (const field of document.querySelectorAll("#doc :is(input, select, textarea):not([aria-label])")) {
    const row = field.closest("tr[data-param-name]");
    field.setAttribute("aria-label", row?.dataset.paramName ?? nameOf(field));
  }
}

function nameOf(field) {
  if (field.localName === "textarea") return "Body of the request";
  if (field.classList.contains("examples-select-element")) return "Example";
  return field.localName === "select" ? "Content type" : field.placeholder || "Value";
}

let due = false;
new MutationObserver(() => {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    mend();
    showAnswer();
  });
}).observe(document.getElementById("doc"), { childList: true, subtree: true });
paint();
system.addEventListener("change", paint);
document.querySelector(".theme").addEventListener("click", () => {
  try {
    window.localStorage.setItem(KEY, current() === "dark" ? "light" : "dark");
  } catch {
    return;
  }
  paint();
});
draw();
