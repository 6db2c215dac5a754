// The page of a transfer keeps itself up to date: it waits for the next change where the page says that its address
// serves that, else it looks again when the gateway says. What is open stays open, and the focus stays. A page nobody sees asks nothing.
"use strict";
(() => {
  const main = document.getElementById("content");
  const announce = document.getElementById("announce");
  const LONGEST_WAIT = 25;  // seconds; the gateway answers a longer wait as if it was 30
  const SHORTEST = 2;
  const LONGEST_PAUSE = 300;
  let canWait = "waits" in main.dataset;
  let failures = 0;
  let sent = new Map();  // what the server last sent of each part

  // Times in the reader's zone, in the language of the page: as the browser writes it, where it knows a variant.
  const language = document.documentElement.lang;
  const variant = navigator.languages.find((each) => each.split("-")[0] === language.split("-")[0]) || language;
  const clock = new Intl.DateTimeFormat(variant, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(variant, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const exact = new Intl.DateTimeFormat(variant, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const showTimes = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.getAttribute("datetime"));
      if (Number.isNaN(at.getTime())) continue;
      const today = at.toDateString() === new Date().toDateString();
      time.textContent = (today ? clock : day).format(at);
      time.title = at.toLocaleString(variant);
    }
  };

  const showButtons = (root) => {
    for (const button of root.querySelectorAll("[data-copy-from]")) button.hidden = false;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy-from]");
    if (!button) return;
    const value = document.getElementById(button.dataset.copyFrom);
    try {
      await navigator.clipboard.writeText(value.textContent);
      const before = button.textContent;
      if (before !== main.dataset.copied) setTimeout(() => { button.textContent = before; announce.textContent = ""; }, 2000);
      button.textContent = main.dataset.copied;
      announce.textContent = main.dataset.copied;
    } catch {
      getSelection().selectAllChildren(value);  // without a clipboard it is at least selected
    }
  });

  const parts = (root) => [...root.querySelectorAll("[data-part]")];

  const keepOpen = (old, fresh) => {
    for (const details of fresh.querySelectorAll("details[id]")) {
      const known = old.querySelector(`details[id="${details.id}"]`);
      if (known) details.open = known.open;
    }
  };

  const inUse = (part) => {
    const selection = getSelection();
    return !selection.isCollapsed && part.contains(selection.anchorNode);
  };

  // Where the parts are the same ones, each is replaced by itself; else all of them, with the focus at the beginning.
  const show = (page) => {
    const fresh = page.getElementById("content");
    if (!fresh) return false;
    const had = main.querySelector("h1");
    const before = had ? had.textContent : "";
    const names = (root) => parts(root).map((part) => part.dataset.part).join();
    const texts = new Map(parts(fresh).map((part) => [part.dataset.part, part.outerHTML]));
    if (names(main) === names(fresh)) {
      for (const part of parts(fresh)) {
        const old = main.querySelector(`[data-part="${part.dataset.part}"]`);
        if (texts.get(part.dataset.part) === sent.get(part.dataset.part)) continue;
        if (inUse(old)) { texts.set(part.dataset.part, sent.get(part.dataset.part)); continue; }
        keepOpen(old, part);
        const focused = old.contains(document.activeElement) ? document.activeElement.id : null;
        old.replaceWith(part);
        showButtons(part);
        showTimes(part);
        if (focused !== null) (focused && document.getElementById(focused) || main).focus({ preventScroll: true });
      }
    } else {
      const inside = main.contains(document.activeElement);
      main.replaceChildren(...fresh.childNodes);
      document.querySelector("footer").replaceChildren(...page.querySelector("footer").childNodes);
      showButtons(main);
      showTimes(main);
      if (inside) main.focus({ preventScroll: true });
    }
    sent = texts;
    for (const name of ["transfer", "status", "nextPoll"]) {
      if (name in fresh.dataset) main.dataset[name] = fresh.dataset[name];
      else delete main.dataset[name];
    }
    document.title = page.title;
    const heading = main.querySelector("h1");
    if (heading && heading.textContent !== before) announce.textContent = heading.textContent;
    return true;
  };

  const trouble = (words) => {
    const note = document.getElementById("trouble");
    if (!note) return;
    if (note.textContent !== words) note.textContent = words;
    note.hidden = !words;
  };

  const checked = () => {
    const at = document.getElementById("checked-at");
    if (!at) return;
    at.textContent = exact.format(new Date());
    document.getElementById("checked").hidden = false;
    document.getElementById("freshness").hidden = !("nextPoll" in main.dataset);
  };

  const later = (answer, otherwise) => Math.min(LONGEST_PAUSE, Math.max(otherwise, Number(answer.headers.get("Retry-After")) || 0));

  // Loads the page again; answers after how many seconds to go on, 0 for: as the page says.
  const refresh = async () => {
    let answer, text;
    try {
      answer = await fetch(location.pathname, { headers: { Accept: "text/html", "Accept-Language": language }, cache: "no-store", signal: AbortSignal.timeout(20_000) });
      text = await answer.text();
    } catch {
      answer = null;
    }
    if (answer && (answer.ok || answer.status === 404) && show(new DOMParser().parseFromString(text, "text/html"))) {
      if (answer.redirected) history.replaceState(null, "", new URL(answer.url).pathname);
      failures = 0;
      trouble("");
      checked();
      return 0;
    }
    failures += 1;
    trouble(main.dataset.unreachable);
    const pause = Math.min(60, 5 * 2 ** Math.min(failures - 1, 4));
    return answer ? later(answer, pause) : pause;
  };

  const pause = (seconds) => new Promise((done) => { setTimeout(done, seconds * 1000); });

  // Until somebody looks at the page.
  const seen = () => new Promise((done) => {
    if (!document.hidden) { done(); return; }
    document.addEventListener("visibilitychange", () => done(), { once: true });
  });

  // Until the status is another one, at most so many seconds; false where the gateway cannot wait now.
  const waited = async (seconds) => {
    const { transfer, status } = main.dataset;
    const timeout = Math.max(1, Math.min(LONGEST_WAIT, Math.floor(seconds)));
    const query = new URLSearchParams({ transfer_id: transfer, after_status: status, timeout });
    try {
      const answer = await fetch(`${main.dataset.waits}?${query}`, { cache: "no-store", signal: AbortSignal.timeout((timeout + 10) * 1000) });
      // What the gateway serves a proxy may keep for itself.
      if (answer.status === 404 || answer.status === 405) canWait = false;
      if (!answer.ok) return false;
      const told = await answer.json();
      return told.err === null ? { changed: String(told.status) !== status } : false;
    } catch {
      return false;
    }
  };

  // Until it is time to load the page again.
  const due = async () => {
    const until = Date.now() + Math.max(SHORTEST, Number(main.dataset.nextPoll)) * 1000;
    while (canWait && "transfer" in main.dataset && !document.hidden) {
      const left = (until - Date.now()) / 1000;
      if (left < 1) return;
      const began = Date.now();
      const told = await waited(left);
      if (!told) break;
      if (told.changed) return;
      // An answer that came at once, and told nothing, is no reason to ask at once again.
      if (Date.now() - began < 900) await pause(SHORTEST);
    }
    await pause(Math.max(0, (until - Date.now()) / 1000));
  };

  const follow = async () => {
    let extra = 0;
    while ("nextPoll" in main.dataset) {
      if (extra) await pause(extra);
      else await due();
      await seen();
      extra = await refresh();
    }
  };

  sent = new Map(parts(main).map((part) => [part.dataset.part, part.outerHTML]));
  showButtons(document);
  showTimes(document);
  if ("nextPoll" in main.dataset) { checked(); follow(); }
})();
