// The colours that the reader chose, in the console, on the page to try requests or here: one choice for all of them.
// It runs before the page is drawn, so that nothing flashes.
"use strict";
(() => {
  const KEY = "console-theme";
  const SCHEMES = { light: "default", dark: "slate" };
  const option = (index, media, scheme) => ({ index, color: { media, scheme, primary: "custom", accent: "custom" } });

  try {
    const kept = localStorage.getItem(KEY);
    const palette = kept in SCHEMES
      ? option(kept === "light" ? 1 : 2, `(prefers-color-scheme: ${kept})`, SCHEMES[kept])
      : option(0, "(prefers-color-scheme)", "default");
    __md_set("__palette", palette); // of the script before this one
    document.addEventListener("change", event => {
      if (event.target.name !== "__palette") return;
      const chosen = /: (light|dark)\)$/.exec(event.target.dataset.mdColorMedia);
      if (chosen) localStorage.setItem(KEY, chosen[1]);
      else localStorage.removeItem(KEY);
    });
  } catch {
    // Storage is switched off: the page is as the system says.
  }
})();
