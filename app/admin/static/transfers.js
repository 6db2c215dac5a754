// Times of a filter in the reader's zone: the server reads and writes UTC, a date field knows no zone.
"use strict";
(() => {
  const two = (number) => String(number).padStart(2, "0");
  const asLocal = (at) =>
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;

  for (const form of document.querySelectorAll("form[data-utc-times]")) {
    const fields = form.querySelectorAll("input[data-utc]");
    for (const zone of form.querySelectorAll("[data-zone]")) zone.textContent = "";
    for (const field of fields) {
      const at = new Date(field.dataset.utc);
      field.value = field.dataset.utc && !Number.isNaN(at.getTime()) ? asLocal(at) : "";
    }
    form.addEventListener("formdata", (event) => {
      for (const [name, value] of [...event.formData.entries()]) {
        if (value === "") event.formData.delete(name);  // a link that is short enough to send to somebody
      }
      for (const field of fields) {
        const at = new Date(field.value);
        if (field.value && !Number.isNaN(at.getTime())) event.formData.set(field.name, at.toISOString());
      }
    });
  }
})();
