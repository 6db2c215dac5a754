// Before the page is drawn: the theme that the reader chose, so that nothing flashes.
"use strict";
(() => {
  const chosen = localStorage.getItem("console-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
