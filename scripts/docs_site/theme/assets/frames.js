// What the generator's script draws around code and tables: buttons in a landmark without a name, and tables that
// scroll, that a keyboard could not reach and that did not show that they go on.
"use strict";
(() => {
  let blocks = 0;
  new MutationObserver(() => {
    for (const buttons of document.querySelectorAll("nav.md-code__nav:not([aria-label])")) {
      blocks += 1;
      buttons.setAttribute("aria-label", `Code ${blocks}`);
    }
    for (const frame of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
      frame.tabIndex = 0;
      const show = () => {
        frame.toggleAttribute("data-more", frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 1);
      };
      frame.addEventListener("scroll", show, { passive: true });
      new ResizeObserver(show).observe(frame);
    }
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
