// Small helps of the console's pages. Every page works without them, but for copying.
"use strict";
(() => {
  const root = document.documentElement;

  const announce = (text) => {
    const toast = document.getElementById("announce");
    toast.textContent = text;
    toast.classList.add("shown");
    clearTimeout(announce.timer);
    announce.timer = setTimeout(() => toast.classList.remove("shown"), 1800);
  };

  // navigator.clipboard is missing over plain http to another machine.
  const copy = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return undefined;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    const source = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
    try {
      await copy(source ? source.textContent : button.dataset.copy);
      announce("Copied");
    } catch {
      announce("The browser did not allow copying");
    }
  });

  // Times in the reader's zone; the server wrote them in UTC and says so on hover.
  const local = new Intl.DateTimeFormat(undefined, {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.getTime())) time.textContent = local.format(at);
    }
  };
  localise(document);
  document.addEventListener("contentchange", (event) => localise(event.target));

  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const themeButton = document.getElementById("theme-button");
  if (themeButton) {
    const label = () => { themeButton.textContent = dark() ? "Light" : "Dark"; };
    label();
    themeButton.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      localStorage.setItem("console-theme", root.dataset.theme);
      label();
      document.dispatchEvent(new CustomEvent("themechange"));
    });
  }

  const menuButton = document.getElementById("menu-button");
  if (menuButton) {
    menuButton.addEventListener("click", () => {
      const open = document.body.classList.toggle("menu-open");
      menuButton.setAttribute("aria-expanded", String(open));
    });
  }

  for (const form of document.querySelectorAll("form[data-confirm]")) {
    form.addEventListener("submit", (event) => {
      if (!window.confirm(form.dataset.confirm)) event.preventDefault();
    });
  }

  // A second click must not send a change twice.
  for (const form of document.querySelectorAll('form[method="post"]')) {
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "1";
    });
  }
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-pick-all]");
    if (!button) return;
    const boxes = [...document.querySelectorAll(`input[type="checkbox"][form="${button.dataset.pickAll}"]`)];
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
  });

  // "/" goes to the search from anywhere but a field, and Escape leaves it.
  const box = document.getElementById("search");
  if (box) {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const typing = event.target.closest("input, textarea, select, [contenteditable]");
      if (event.key === "/" && !typing) {
        event.preventDefault();
        box.focus();
        box.select();
      } else if (event.key === "Escape" && event.target === box) {
        box.blur();
      }
    });
  }

  if (!window.isSecureContext) {
    for (const note of document.querySelectorAll(".insecure")) note.hidden = false;
  }
})();
