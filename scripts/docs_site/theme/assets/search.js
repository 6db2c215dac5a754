// The index of the search is the largest file of the site. The generator requests it with every page; here that
// request waits until somebody searches, or came from a search (then the address names what to highlight).
"use strict";
(() => {
  const INDEX = /\/search\.json$/;
  const { open, send } = XMLHttpRequest.prototype;
  const indexes = new WeakSet();
  const waiting = [];
  let wanted = new URLSearchParams(location.search).has("h");

  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    if (INDEX.test(new URL(url, location).pathname)) indexes.add(this);
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...body) {
    if (wanted || !indexes.has(this)) return send.apply(this, body);
    waiting.push(() => send.apply(this, body));
  };

  function want() {
    wanted = true;
    for (const request of waiting.splice(0)) request();
  }
  const opens = "[data-md-component=search], label[for=__search]";
  document.addEventListener("click", event => event.target.closest?.(opens) && want(), true);
  document.addEventListener("keydown", event => (event.ctrlKey || event.metaKey) && event.key === "k" && want(), true);
})();
