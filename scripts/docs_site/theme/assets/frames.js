// What the generator's script draws around code and tables: buttons in a landmark without a name, and tables that
// scroll and that a keyboard could not reach.
"use strict";
(() => {
  let blocks = 0;
  new MutationObserver(() => {
    for (const buttons of document.querySelectorAll("nav.md-code__nav:not([aria-label])")) {
      blocks += 1;
      buttons.setAttribute("aria-label", `Code ${blocks}`);
    }
    for (const frame of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) frame.tabIndex = 0;
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
