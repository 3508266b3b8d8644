// The labelling page works without this file. With it: keys, drafts that save themselves, words marked in the text, and
// a page that keeps what is typed when the connection is gone.
import { marking } from "./marks.js";

const form = document.getElementById("answer");
if (form) begin();

function begin() {
  const field = (name) => form.elements[name];
  const texts = form.dataset;
  const status = document.getElementById("status");
  const marks = marking(form, tell, typed);
  const store = `mindgauge:${field("item").value}:${field("phase").value}:${field("turn").value}`;
  let handingIn = false;

  function tell(text, warn = false) {
    status.textContent = text;
    status.classList.toggle("warn", warn);
  }

  // Time on the screen, while the page is in view.
  let spent = 0;
  let since = document.hidden ? null : performance.now();
  function seconds() {
    return (spent + (since === null ? 0 : performance.now() - since)) / 1000;
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      spent = seconds() * 1000;
      since = null;
      if (changed) save(true);
    } else if (since === null) since = performance.now();
  });

  // -- drafts ----------------------------------------------------------------------------------------------------------

  let changed = false;
  let timer = 0;

  function content() {
    const fields = {};
    for (const [name, value] of new FormData(form)) {
      if (name === "csrf" || name === "seconds") continue;
      fields[name] = name in fields ? [].concat(fields[name], value) : value;
    }
    return fields;
  }

  function typed() {
    changed = true;
    sessionStorage.setItem(store, JSON.stringify(content()));
    clearTimeout(timer);
    timer = setTimeout(() => save(), 800);
  }

  let saved = Promise.resolve();
  function save(leaving = false) {
    clearTimeout(timer);
    if (!handingIn) saved = send(leaving);
    return saved;
  }

  async function send(leaving) {
    changed = false;
    const body = { ...content(), seconds: String(seconds()) };
    try {
      const answer = await fetch("/draft", {
        method: "POST",
        keepalive: leaving,
        headers: { "Content-Type": "application/json", "X-CSRF": field("csrf").value },
        body: JSON.stringify(body),
      });
      if (answer.status === 409) tell(texts.outdated, true);
      else if (!answer.ok) tell(texts.unsaved, true);
      else tell(texts.saved);
    } catch {
      tell(texts.unsaved, true);
    }
  }

  function restore() {
    let kept = null;
    try {
      kept = JSON.parse(sessionStorage.getItem(store));
    } catch {
      sessionStorage.removeItem(store);
    }
    if (!kept) return;
    const now = content();
    const same = (name) => JSON.stringify(kept[name] ?? "") === JSON.stringify(now[name] ?? "");
    if (Object.keys({ ...kept, ...now }).every((name) => ["form", "before", "node", "criterion"].includes(name) || same(name))) return;
    for (const [name, value] of Object.entries(kept)) {
      if (name === "note") field("note").value = value;
      if (name.startsWith("answer:"))
        for (const radio of form.querySelectorAll("input[type=radio]")) if (radio.name === name) radio.checked = radio.value === value;
    }
    marks.set([].concat(kept.evidence ?? []));
    tell(texts.restored);
    typed();
  }

  form.addEventListener("input", typed);

  // -- handing in --------------------------------------------------------------------------------------------------------
  // The script only finds out whether the server took it. What it refuses is sent once more by the browser itself, which
  // then shows the server's page; the form's id makes sure that nothing counts twice.

  let waiting = null;

  async function handIn(button) {
    if (handingIn) return;
    handingIn = true;
    clearTimeout(timer);
    field("seconds").value = String(seconds());
    sessionStorage.setItem(store, JSON.stringify(content()));
    const late = setTimeout(() => tell(texts.sending), 400);
    await saved; // so that a draft does not come after what it was a draft of
    try {
      const body = new URLSearchParams(new FormData(form, button));
      const headers = { Accept: "application/json" };
      const answer = await fetch(form.action, { method: "POST", body, headers, redirect: "manual" });
      if (answer.status === 204) {
        sessionStorage.removeItem(store);
        sessionStorage.setItem(`${store}:at`, String(scrollY));
        const [next] = answer.headers.get("Location").split("#"); // with a mark, the page would not be asked for again
        location.assign(next); // still handing in: a key that comes too early is not meant for this question
        return;
      }
      if (answer.status >= 500) throw new Error("not taken");
      waiting = { button };
      form.requestSubmit(button);
    } catch {
      waiting = { button, offline: true };
      tell(texts.offline, true);
      setTimeout(retry, 5000);
      handingIn = false;
    }
    clearTimeout(late);
  }

  function retry() {
    if (waiting?.offline && !handingIn) {
      const { button } = waiting;
      waiting = null;
      handIn(button);
    }
  }
  window.addEventListener("online", retry);

  form.addEventListener("submit", (event) => {
    if (waiting && !waiting.offline) return; // refused: the browser sends it itself
    event.preventDefault();
    waiting = null;
    handIn(event.submitter);
  });

  // What is typed is kept before another button takes the person away.
  for (const other of document.querySelectorAll(".others form, .settings form"))
    other.addEventListener("submit", async (event) => {
      if (!changed) return;
      event.preventDefault();
      await save();
      other.submit();
    });
  window.addEventListener("beforeunload", () => changed && !handingIn && save(true));

  window.addEventListener("pageshow", (event) => event.persisted && location.reload()); // came back to: perhaps old

  // -- keys ------------------------------------------------------------------------------------------------------------

  const dialog = document.getElementById("keys");
  const switchOn = document.getElementById("keys-on");
  const questions = [...form.querySelectorAll("fieldset")];

  function keysOn(on) {
    switchOn.checked = on;
    document.documentElement.classList.toggle("keys-on", on);
    localStorage.setItem("mindgauge:keys", on ? "on" : "off");
  }
  switchOn.addEventListener("change", () => keysOn(switchOn.checked));

  function choose(key) {
    const open = questions.find((question) => question.contains(document.activeElement))
      ?? questions.find((question) => !question.querySelector(":checked")) ?? (questions.length ? null : form);
    const choice = [...(open?.querySelectorAll("[data-key]") ?? [])].find((one) => one.dataset.key === key);
    if (!choice) return false;
    choice.click();
    if (choice.type !== "radio") return true;
    const next = questions[questions.indexOf(open) + 1];
    (next?.querySelector("input:checked") ?? next?.querySelector("input") ?? form.querySelector("button.main")).focus();
    return true;
  }

  const actions = {
    n: () => field("note").focus(),
    m: () => marks.begin(),
    s: () => document.getElementById("skip")?.click(),
    u: () => document.getElementById("undo")?.click(),
    "?": () => dialog.showModal(),
    Enter: () => questions.length && form.requestSubmit(form.querySelector("button.main")),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open) return;
    const typing = event.target.matches("textarea, select, input:not([type=radio])");
    if (typing) return void (event.key === "Escape" && event.target.blur());
    if (marks.takes(event)) return;
    const pressed = event.target.closest("a, button, summary");
    if (event.key === "Enter" ? pressed : !switchOn.checked) return;
    if (event.repeat) return;
    const action = actions[event.key];
    if (action ? action() !== false : choose(event.key)) event.preventDefault();
  });

  // -- at the start ------------------------------------------------------------------------------------------------------

  const cover = document.querySelector(".cover");
  if (cover) {
    cover.open = sessionStorage.getItem(`mindgauge:open:${cover.dataset.item}`) === "yes";
    cover.addEventListener("toggle", () => sessionStorage.setItem(`mindgauge:open:${cover.dataset.item}`, cover.open ? "yes" : "no"));
  }
  const rubric = document.querySelector(":is(.one, .single) .whole");
  if (rubric) rubric.open = matchMedia("(min-width: 64rem)").matches; // as the style sheet shows it
  form.querySelector(".scripted").hidden = false;
  const keys = document.getElementById("help");
  if (keys) {
    keys.hidden = false;
    keys.addEventListener("click", () => dialog.showModal());
  }
  const at = sessionStorage.getItem(`${store}:at`);
  if (at && form.querySelector(".steps")) { // the next question on the same item stands where the last one stood
    scrollTo(0, Number(at));
    document.getElementById("question").focus({ preventScroll: true });
  }
  sessionStorage.removeItem(`${store}:at`);
  keysOn(localStorage.getItem("mindgauge:keys") !== "off");
  restore();
}
