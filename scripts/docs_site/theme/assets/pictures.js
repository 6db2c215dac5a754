// Mermaid draws the pictures of a page, and is larger than everything else on it. The generator's script calls it through
// this object, which loads it after the page, at the first picture.
"use strict";
(() => {
  const LIBRARY = new URL("vendor/mermaid-12.0.0.9f2807e4.js", document.currentScript.src);
  // Narrow, so that their words can be read on a phone.
  const FLOWCHART = { diagramPadding: 2, nodeSpacing: 16, padding: 9, rankSpacing: 36, wrappingWidth: 172 };
  const SEQUENCE = {
    actorMargin: 8, boxMargin: 8, diagramMarginX: 2, diagramMarginY: 2, height: 44, messageMargin: 26,
    mirrorActors: false, noteMargin: 8, width: 108, wrap: true, wrapPadding: 4,
  };
  // No line runs through words.
  const STYLES = ".messageText { paint-order: stroke; stroke: var(--md-default-bg-color); stroke-width: 5px }";
  let settings;
  let loading;

  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = LIBRARY;
      script.onload = resolve; // `mermaid` is the library now
      script.onerror = () => reject(new Error("the pictures cannot be drawn"));
      document.head.append(script);
    }).then(() => mermaid.initialize(settings));
    return loading;
  }

  globalThis.mermaid = {
    initialize(given) {
      const sequence = { ...given.sequence, ...SEQUENCE };
      settings = { ...given, flowchart: FLOWCHART, sequence, themeCSS: given.themeCSS + STYLES };
    },
    async render(...picture) {
      await load();
      return mermaid.render(...picture);
    },
  };
})();
