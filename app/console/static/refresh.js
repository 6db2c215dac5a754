// The dashboard reads itself again, part by part, and nothing moves: no part gets lower, what is open stays open,
// and a part that somebody is using waits. A tab that nobody sees asks for nothing.
"use strict";
(() => {
  const asOf = document.getElementById("as-of");
  const button = document.getElementById("pause-button");
  const note = document.getElementById("not-refreshed");
  if (!asOf || !button || !note) return;
  const seconds = Number(asOf.dataset.refreshSeconds);
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const shown = new Map();  // what the server last sent of each part, to leave alone what is the same
  let paused = localStorage.getItem("dashboard-paused") === "1";
  let over = false;
  let refreshed = new Date();
  let timer;

  const parts = (root) => [...root.querySelectorAll("#incidents, #tiles, section.card[id]")];

  const inUse = (part) => {
    const selection = getSelection();
    const marked = !selection.isCollapsed && part.contains(selection.anchorNode);
    return marked || (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea"));
  };

  const focusable = (part) => [...part.querySelectorAll("a, button, summary, [tabindex]")];

  // The focus goes to what took the place of what had it, so that the keyboard stays where it is.
  const focusAgain = (part, had, place) => {
    const now = focusable(part);
    const same = now.find((item) => item.tagName === had.tagName && item.hasAttribute("href") && item.getAttribute("href") === had.getAttribute("href"));
    const next = same || now[Math.min(place, now.length - 1)];
    if (next) next.focus({ preventScroll: true });
  };

  // What is open is known by the words of its summary, without times and numbers.
  const nameOf = (details) => {
    const link = details.querySelector("summary a");
    return link ? link.getAttribute("href") : details.querySelector("summary").textContent.replace(/[\d\s]+/g, " ");
  };

  const replace = (old, fresh) => {
    const open = new Set([...old.querySelectorAll("details[open]")].map(nameOf));
    const closed = new Set([...old.querySelectorAll("details:not([open])")].map(nameOf));
    const scrolled = [...old.querySelectorAll(".table-frame")].map((frame) => [frame.scrollLeft, frame.scrollTop]);
    // What is stopped is news: the page may move for it, and has no gap where it was.
    if (old.id !== "incidents") old.style.minHeight = `${old.getBoundingClientRect().height}px`;
    for (const details of fresh.querySelectorAll("details")) {
      if (open.has(nameOf(details))) details.open = true;
      else if (closed.has(nameOf(details))) details.open = false;
    }
    // A chart is drawn on, not anew.
    for (const canvas of fresh.querySelectorAll("canvas[id]")) {
      const known = old.querySelector(`canvas#${canvas.id}`);
      if (!known) continue;
      known.dataset.chart = canvas.dataset.chart;
      canvas.replaceWith(known);
    }
    const had = old.contains(document.activeElement) ? document.activeElement : null;
    const place = had ? focusable(old).indexOf(had) : -1;
    old.replaceChildren(...fresh.childNodes);
    if (had) focusAgain(old, had, place);
    [...old.querySelectorAll(".table-frame")].forEach((frame, n) => {
      if (scrolled[n]) [frame.scrollLeft, frame.scrollTop] = scrolled[n];
    });
    old.dispatchEvent(new CustomEvent("contentchange", { bubbles: true }));
  };

  // What somebody closes may get lower.
  document.addEventListener("toggle", (event) => {
    const part = event.target.closest("section.card[id]");
    if (part && !event.target.open) part.style.minHeight = "";
  }, true);

  const show = (page) => {
    for (const fresh of parts(page)) {
      const old = document.getElementById(fresh.id);
      const sent = fresh.innerHTML;
      if (!old || shown.get(fresh.id) === sent || inUse(old)) continue;
      shown.set(fresh.id, sent);
      replace(old, fresh);
    }
    const time = page.getElementById("as-of");
    if (time) {
      asOf.replaceChildren(...time.childNodes);
      asOf.dispatchEvent(new CustomEvent("contentchange", { bubbles: true }));
    }
  };

  const complain = (words, link) => {
    const said = `${words} Showing data of ${clock.format(refreshed)}.`;
    if (note.dataset.said === words && !note.hidden) return;  // it is a status: said aloud once
    note.dataset.said = words;
    note.textContent = `${said} `;
    if (link) note.append(link);
    note.hidden = false;
    asOf.classList.add("stale");
  };

  const refresh = async () => {
    let answer, sent;
    try {
      answer = await fetch(asOf.dataset.refreshFrom, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(seconds * 1000) });
      sent = await answer.text();
    } catch {
      complain("The gateway cannot be reached; trying again.");
      return;
    }
    if (answer.redirected) {
      const link = document.createElement("a");
      link.href = answer.url;
      link.textContent = "Sign in";
      complain("Your session has ended.", link);
      over = true;
      return;
    }
    if (!answer.ok) {
      complain("The dashboard could not be loaded; trying again.");
      return;
    }
    show(new DOMParser().parseFromString(sent, "text/html"));
    refreshed = new Date();
    note.hidden = true;
    asOf.classList.remove("stale");
  };

  const next = () => {
    clearTimeout(timer);
    if (paused || over || document.hidden) return;
    const due = Math.max(0, seconds * 1000 - (new Date() - refreshed));
    // After a failure the last success is long ago: wait a whole interval all the same.
    timer = setTimeout(async () => { await refresh(); next(); }, note.hidden ? due : seconds * 1000);
  };

  const label = () => { button.textContent = paused ? "Resume updates" : "Pause updates"; };
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    paused = !paused;
    localStorage.setItem("dashboard-paused", paused ? "1" : "0");
    label();
    next();
  });
  document.addEventListener("visibilitychange", next);
  next();
})();
