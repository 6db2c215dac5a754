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
      announce("The browser blocked copying. Select the text and copy it yourself.");
    }
  });

  // Times in the reader's zone, in the server's format; the server wrote them in UTC and says so on hover.
  const two = (number) => String(number).padStart(2, "0");
  const local = (at) =>
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.getTime())) time.textContent = local(at);
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

  // A list that is whole on one page is filtered while one types; Enter searches as without this.
  const filter = document.querySelector("input[data-filters-rows]");
  if (filter) {
    const rows = [...document.querySelectorAll("main tbody tr")];
    const count = document.querySelector("main .count");
    filter.addEventListener("input", () => {
      const typed = filter.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(typed);
      count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    });
  }

  // A token is chosen from those on all chosen chains (data-on), or from those that the chain lacks (data-not-on).
  for (const form of document.querySelectorAll("form[data-decimals]")) {
    const listed = JSON.parse(form.dataset.decimals);
    for (const input of form.querySelectorAll("[data-on], [data-not-on]")) {
      const list = input.list || input;
      const all = [...list.options];
      const isWanted = "on" in input.dataset;
      const names = (input.dataset.on || input.dataset.notOn).split(" ");
      const narrow = () => {
        const { value } = input;
        const chains = names.map((name) => form.elements[name] && form.elements[name].value).filter(Number);
        list.replaceChildren(...all.filter((option) => !option.value || option.value === value ||
          chains.every((chain) => (`${chain} ${option.value}` in listed) === isWanted)));
        input.value = value;
      };
      form.addEventListener("change", narrow);
      narrow();
    }
  }

  const menuButton = document.getElementById("menu-button");
  const showMenu = (open) => {
    document.body.classList.toggle("menu-open", open);
    menuButton.setAttribute("aria-expanded", String(open));
  };
  if (menuButton) {
    menuButton.addEventListener("click", () => showMenu(!document.body.classList.contains("menu-open")));
    // Where the menu is longer than the window, the page's own entry is in sight.
    const here = document.querySelector('.sidebar nav [aria-current="page"]');
    if (here) here.scrollIntoView({ block: "nearest" });
  }

  // Escape closes what was opened last: the menu of a narrow window, or what is unfolded around the focus.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    if (document.body.classList.contains("menu-open")) {
      showMenu(false);
      menuButton.focus();
      return;
    }
    const unfolded = event.target.closest("details[open]");
    if (!unfolded) return;
    unfolded.open = false;
    unfolded.querySelector("summary").focus();
  });

  // After a form was refused, its reader goes on at the first field that is wrong, and hears what is wrong.
  const seen = (element) => element && element.offsetParent !== null;
  const wrong = [...document.querySelectorAll("main .field-error")].find((error) => seen(error) && error.textContent.trim());
  const marked = [...document.querySelectorAll('main [aria-invalid="true"]')].find(seen);
  const around = wrong && wrong.closest(".field, fieldset, form");
  const input = marked || (around && [...around.querySelectorAll("input, select, textarea")].find(seen));
  const refused = document.querySelector('main .message-error[role="alert"]');
  if (input || refused) document.title = `Error: ${document.title}`;
  if (input) {
    input.focus();
  } else if (refused) {
    const start = document.querySelector("main [autofocus]");
    if (start) {
      refused.id ||= "refused";
      start.setAttribute("aria-describedby", [start.getAttribute("aria-describedby"), refused.id].filter(Boolean).join(" "));
      start.focus();
    } else {
      refused.tabIndex = -1;
      refused.focus();
    }
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
      if (event.submitter) event.submitter.setAttribute("aria-busy", "true");
    });
  }
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
    for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-pick]");
    if (!button) return;
    const boxes = [...document.querySelectorAll(`input[type="checkbox"][form="${button.dataset.pick}"]`)];
    // A button that names no outcome selects all, and where all are selected none.
    const picked = button.dataset.picked ? button.dataset.picked === "1" : !boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = picked;
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
