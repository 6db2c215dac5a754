// Every time that is typed is in the reader's zone. The server reads and writes UTC, and a date field knows no zone.
"use strict";
(() => {
  const two = (number) => String(number).padStart(2, "0");
  const asDay = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const asMinute = (at) => `${asDay(at)}T${two(at.getHours())}:${two(at.getMinutes())}`;

  // "2027-01-31", "2027-01-31 18:00" and RFC 3339; without an offset it is UTC.
  const moment = (text) => {
    const [, day, time, offset] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|[+-]\d\d:\d\d|UTC)?$/.exec(text.trim()) || [];
    const at = day ? new Date(`${day}T${time || "00:00"}${!offset || offset === "UTC" ? "Z" : offset}`) : new Date(NaN);
    return Number.isNaN(at.getTime()) ? null : at;
  };

  const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" })
    .formatToParts(new Date()).find((part) => part.type === "timeZoneName").value.replace(/^GMT(\+0$)?/, "UTC");

  for (const input of document.querySelectorAll("input[data-utc]")) {
    const whole = input.dataset.utcDay;
    const given = input.dataset.utc || (whole ? "" : input.value);
    const at = given ? moment(given) : null;
    if (given && !at) continue;  // what cannot be read stays as it was typed, beside its error
    input.value = "";  // what the server wrote is no value of the other type
    if (!whole) input.type = "datetime-local";
    if (whole && /^\d{4}-\d\d-\d\d$/.test(given)) {
      input.value = given;  // a day of a link: the same day here
    } else if (at) {
      input.value = whole ? asDay(new Date(at.getTime() - (whole === "end" ? 1 : 0))) : asMinute(at);
    } else {
      input.value = "";
    }
    const label = input.closest("label, .field");
    const shown = label && label.querySelector("[data-zone]");
    if (shown) shown.textContent = `(${zone})`;
    const untouched = input.value;
    if (!input.form) continue;
    input.form.addEventListener("formdata", (event) => {
      if (!input.name || !event.formData.has(input.name)) return;
      if (input.value === untouched) {
        if (given) event.formData.set(input.name, given);  // its seconds, too
        return;
      }
      const typed = input.value && new Date(whole ? `${input.value}T00:00` : input.value);
      if (!typed || Number.isNaN(typed.getTime())) return;
      if (whole === "end") typed.setDate(typed.getDate() + 1);
      event.formData.set(input.name, typed.toISOString());
    });
  }

  for (const form of document.querySelectorAll("form[data-short-address]")) {
    form.addEventListener("formdata", (event) => {
      for (const [name, value] of [...event.formData.entries()]) {
        if (value === "") event.formData.delete(name);  // a link that is short enough to send to somebody
      }
    });
  }
})();
