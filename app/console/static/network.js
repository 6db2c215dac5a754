// Forms about the network: amounts in both units while they are typed, rows of fee tiers, and inputs that
// belong to a choice. The server reads what is sent; without this script the pages do the same.
"use strict";
(() => {
  const TOKENS = "tokens";
  const EVM_DECIMALS = 18;
  const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u2009");

  // Digits of smallest units as tokens, and back. Both are exact: there is no number in between.
  const toTokens = (digits, decimals) => {
    const padded = digits.replace(/^0+(?=\d)/, "").padStart(decimals + 1, "0");
    const split = padded.length - decimals;
    const fraction = padded.slice(split).replace(/0+$/, "");
    return padded.slice(0, split) + (fraction ? `.${fraction}` : "");
  };
  const toSmallest = (text, decimals) => {
    const parts = /^(\d+)(?:\.(\d+))?$/.exec(text);
    const fraction = parts && (parts[2] || "").replace(/0+$/, "");
    if (!parts || fraction.length > decimals) return null;
    return (parts[1] + fraction.padEnd(decimals, "0")).replace(/^0+(?=\d)/, "");
  };
  const bare = (text) => text.replace(/[\s_]/g, "");
  const shown = (number) => {
    const [whole, fraction] = number.split(".");
    return grouped(whole) + (fraction ? `.${fraction}` : "");
  };

  for (const form of document.querySelectorAll('form[method="post"]')) {
    const listed = JSON.parse(form.dataset.decimals || "{}");
    const row = JSON.parse(form.dataset.row || "{}");
    const value = (name) => {
      const input = form.elements[name];
      if (input) return input.value;
      const at = row[name];
      return at === undefined || at === null ? "" : String(at);
    };

    // What an amount counts: the rules of unit_in in app/console/network/amount_fields.py.
    const unitOf = (data) => {
      const symbol = value(data.symbol || "symbol").trim();
      const own = data.ownDecimals ? value(data.ownDecimals).trim() : "";
      if (/^\d{1,2}$/.test(own)) return { symbol, decimals: Number(own) };
      const found = data.chain ? listed[`${value(data.chain)} ${symbol}`] : undefined;
      if (found !== undefined) return { symbol, decimals: found };
      const evm = data.contract && /^0[xX][0-9a-fA-F]{40}$/.test(value(data.contract).trim());
      return { symbol, decimals: evm ? EVM_DECIMALS : undefined };
    };
    const smallestOf = (text, isTokens, decimals) => {
      const plain = bare(text);
      if (isTokens) return decimals === undefined ? null : toSmallest(plain, decimals);
      return /^\d{1,120}$/.test(plain) ? plain.replace(/^0+(?=\d)/, "") : null;
    };
    const words = (smallest, { symbol, decimals }) =>
      decimals === undefined ? "" : `= ${shown(toTokens(smallest, decimals))} ${symbol}`;

    const hintOf = (input, select) => {
      const unit = unitOf(input.dataset);
      const smallest = smallestOf(input.value, select.value === TOKENS, unit.decimals);
      if (smallest === null) return "";
      const tokens = words(smallest, unit);
      return tokens && `${tokens} = ${grouped(smallest)} smallest units`;
    };

    const amounts = [...form.querySelectorAll("input[data-unit]")].map((input) => ({
      select: form.elements[input.dataset.unit], inputs: () => [input], data: input.dataset,
      say: (select) => { document.getElementById(`${input.id}-hint`).textContent = hintOf(input, select); },
    }));
    const tables = [...form.querySelectorAll("fieldset[data-tiers]")].map((table) => ({
      select: form.elements[table.dataset.unit], data: table.dataset,
      inputs: () => [...table.querySelectorAll("input[data-tier]")],
      say: (select) => {
        const unit = unitOf(table.dataset);
        const lines = [...table.querySelectorAll("tbody tr")].map((line) => {
          const [from, fee] = [...line.querySelectorAll("input")].map((each) => each.value);
          const smallest = smallestOf(from, select.value === TOKENS, unit.decimals);
          return smallest !== null && fee ? `from ${words(smallest, unit).slice(2) || smallest}: ${fee} %` : "";
        });
        document.getElementById(`${table.id}-hint`).textContent = lines.filter(Boolean).join("; ");
      },
    }));

    const refresh = () => {
      for (const each of [...amounts, ...tables]) {
        each.select.options[0].textContent = unitOf(each.data).symbol || "whole tokens";
        each.say(each.select);
      }
      for (const part of form.querySelectorAll("[data-only-for]")) {
        part.hidden = value(part.dataset.onlyFor) !== part.dataset.onlyWhen;
      }
    };

    // The other unit is the same amount: what was typed is written anew.
    for (const each of [...amounts, ...tables]) {
      each.select.addEventListener("change", () => {
        const { decimals } = unitOf(each.data);
        if (decimals === undefined) return;
        const isTokens = each.select.value === TOKENS;
        for (const input of each.inputs()) {
          const smallest = smallestOf(input.value, !isTokens, decimals);
          if (smallest !== null) input.value = isTokens ? toTokens(smallest, decimals) : smallest;
        }
      });
    }

    for (const table of form.querySelectorAll("fieldset[data-tiers]")) {
      const body = table.querySelector("tbody");
      const add = table.querySelector("[data-add-tier]");
      const inputs = (line) => [...line.querySelectorAll("input")];
      const prune = () => {
        for (const line of [...body.rows]) {
          if (body.rows.length > 1 && inputs(line).every((each) => !each.value)) line.remove();
        }
      };
      const show = (line) => { line.querySelector("[data-remove-tier]").hidden = false; };
      prune();
      [...body.rows].forEach(show);
      add.hidden = false;
      add.addEventListener("click", () => {
        const last = body.rows[body.rows.length - 1];
        const line = last.cloneNode(true);
        const next = Math.max(...[...body.rows].map((each) => Number(/_(\d+)_/.exec(inputs(each)[0].name)[1]))) + 1;
        for (const each of inputs(line)) {
          each.value = "";
          each.removeAttribute("aria-invalid");
          each.name = each.name.replace(/_\d+_/, `_${next}_`);
          each.id = each.id.replace(/-\d+-/, `-${next}-`);
          each.setAttribute("aria-label", each.getAttribute("aria-label").replace(/\d+$/, String(next + 1)));
        }
        body.append(line);
        inputs(line)[0].focus();
        refresh();
      });
      body.addEventListener("click", (event) => {
        const button = event.target.closest("[data-remove-tier]");
        if (!button) return;
        const line = button.closest("tr");
        if (body.rows.length > 1) line.remove();
        else for (const each of inputs(line)) each.value = "";
        add.focus();
        refresh();
      });
    }

    // Whoever types a time means it.
    for (const end of form.querySelectorAll("fieldset[data-end]")) {
      const at = end.querySelector('.end-choices > input');
      at.addEventListener("input", () => {
        end.querySelector('input[type="radio"][value=""]').checked = true;
      });
    }

    form.addEventListener("input", refresh);
    form.addEventListener("change", refresh);
    refresh();
  }

  // A form that comes back with errors begins at the first of them.
  const wrong = document.querySelector('main form [aria-invalid="true"]');
  if (wrong) wrong.focus();
})();
