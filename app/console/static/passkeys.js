// Asks the browser for a passkey and sends its answer in the form that says what is asked for.
"use strict";
(() => {
  const bytes = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  const listed = (credentials) => (credentials || []).map((one) => ({ ...one, id: bytes(one.id) }));

  const ask = async (form) => {
    const options = JSON.parse(form.dataset.options);
    options.challenge = bytes(options.challenge);
    if (form.dataset.passkey === "create") {
      options.user.id = bytes(options.user.id);
      options.excludeCredentials = listed(options.excludeCredentials);
      return navigator.credentials.create({ publicKey: options });
    }
    options.allowCredentials = listed(options.allowCredentials);
    return navigator.credentials.get({ publicKey: options });
  };

  const answer = (credential) => {
    const given = credential.response;
    const response = { clientDataJSON: text(given.clientDataJSON) };
    if (given.attestationObject) {
      response.attestationObject = text(given.attestationObject);
      response.transports = given.getTransports ? given.getTransports() : [];
    } else {
      response.authenticatorData = text(given.authenticatorData);
      response.signature = text(given.signature);
      if (given.userHandle) response.userHandle = text(given.userHandle);
    }
    return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
  };

  const WORDS = {
    NotAllowedError: "Cancelled, or it took too long. Try again.",
    InvalidStateError: "This device already has a passkey of your account.",
    SecurityError: "Passkeys do not work at this address. Open the console at its own address.",
  };

  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const button = form.querySelector("[data-passkey-start]");
    const problem = form.querySelector("[data-passkey-problem]");
    const say = (words) => {
      problem.textContent = words;
      problem.hidden = !words;
    };
    const start = async () => {
      say("");
      button.disabled = true;
      try {
        form.querySelector("[data-passkey-answer]").value = answer(await ask(form));
        form.noValidate = true;
        form.submit();
      } catch (error) {
        say(WORDS[error.name] || "The browser could not use a passkey. Try again.");
        button.disabled = false;
      }
    };
    if (!window.PublicKeyCredential) {
      button.disabled = true;
      if ("auto" in form.dataset) say("This browser cannot use passkeys here. They need HTTPS.");
      else button.hidden = true;
    } else {
      button.addEventListener("click", start);
      if ("auto" in form.dataset) start();
    }
  }
})();
