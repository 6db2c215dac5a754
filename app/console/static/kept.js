// What was typed before a session ended: kept in this window while its owner signs in, then sent again.
"use strict";
(() => {
  const KEY = "console-kept";
  const notTyped = new Set(["csrf_token", "seen", "decimals_shown", "confirm", "back"]);

  const link = document.querySelector("[data-keep]");
  if (link) {
    const form = document.getElementById(link.dataset.keep);
    // Without knowing whose it is, it stays on this page: somebody else could sign in.
    if (form.dataset.who) {
      for (const note of document.querySelectorAll("[data-without-scripts]")) note.hidden = true;
      link.removeAttribute("target");
      form.querySelector(".form-actions").hidden = true;  // nobody is signed in yet
      link.addEventListener("click", () => {
        const fields = [...new FormData(form)].filter(([name]) => name !== "csrf_token");
        const kept = { who: form.dataset.who, action: form.getAttribute("action"), fields };
        try {
          sessionStorage.setItem(KEY, JSON.stringify(kept));
        } catch {
          link.target = "_blank";  // no room: the page itself keeps it
        }
      });
    }
  }

  const again = document.getElementById("take-up");
  if (again) {
    const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
    if (!kept || kept.who !== again.dataset.who || !kept.action.startsWith(again.dataset.below)) {
      sessionStorage.removeItem(KEY);
      return;
    }
    const typed = document.getElementById("typed");
    for (const [name, value] of kept.fields) {
      const input = document.createElement("textarea");
      input.name = name;
      input.value = value;
      input.hidden = true;
      again.append(input);
      if (notTyped.has(name) || !value.trim()) continue;
      const [term, detail] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = (name[0].toUpperCase() + name.slice(1)).replaceAll("_", " ");
      detail.textContent = value.slice(0, 120);
      detail.className = "break";
      typed.append(term, detail);
    }
    again.action = kept.action;
    again.hidden = false;
    document.getElementById("nothing-kept").hidden = true;
    const forget = () => sessionStorage.removeItem(KEY);
    again.addEventListener("submit", forget);
    document.getElementById("leave-it").addEventListener("click", forget);
  }
})();
