// Forms about the network: amounts in human units while they are typed, and inputs that belong to a choice.
"use strict";
(() => {
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u2009");

  const inUnits = (digits, decimals) => {
    const padded = digits.replace(/^0+(?=\d)/, "").padStart(decimals + 1, "0");
    const split = padded.length - decimals;
    const fraction = padded.slice(split).replace(/0+$/, "");
    return grouped(padded.slice(0, split)) + (fraction ? `.${fraction}` : "");
  };

  const percent = (ppm) => `${inUnits(ppm, 4)} %`;

  for (const form of document.querySelectorAll("form[data-decimals]")) {
    const decimals = JSON.parse(form.dataset.decimals);
    const row = JSON.parse(form.dataset.row || "{}");
    const value = (name) => (form.elements[name] ? form.elements[name].value : row[name]);

    const amount = (text, chain, symbol) => {
      const digits = text.replace(/[\s_]/g, "");
      const known = decimals[`${chain} ${symbol}`];
      return /^\d{1,78}$/.test(digits) && known !== undefined ? `${inUnits(digits, known)} ${symbol}` : "";
    };

    const tier = (line, chain, symbol) => {
      const words = line.trim().split(/\s+/);
      const from = words.length === 2 ? amount(words[0], chain, symbol) : "";
      return from && /^\d{1,9}$/.test(words[1]) ? `from ${from}: ${percent(words[1])}` : "";
    };

    const refresh = () => {
      for (const input of form.querySelectorAll("[data-unit-of]")) {
        const hint = document.getElementById(`${input.id}-hint`);
        const [chain, symbol] = [value(input.dataset.unitOf), value("symbol")];
        if (!hint) continue;
        if (input.tagName === "TEXTAREA") {
          hint.textContent = input.value.split("\n").map((line) => tier(line, chain, symbol)).filter(Boolean).join("; ");
        } else {
          const text = amount(input.value, chain, symbol);
          hint.textContent = text && `= ${text}`;
        }
      }
      for (const part of form.querySelectorAll("[data-only-for]")) {
        part.hidden = value(part.dataset.onlyFor) !== part.dataset.onlyWhen;
      }
    };
    form.addEventListener("input", refresh);
    form.addEventListener("change", refresh);
    refresh();
  }
})();
