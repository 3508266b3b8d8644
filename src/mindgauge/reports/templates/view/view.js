/* Answering, where `view` serves the reader: a person agrees, disagrees, chooses levels, writes a note; and what they read is kept. */
"use strict";

Mindgauge.blind = document.body.dataset.view === "blind";

Mindgauge.answering = (() => {
  const { element, own, inWords, raised, counted } = Mindgauge;
  const JUDGES = ["model", "classifier", "panel"];
  const OTHERWISE = { cannot_tell: "cannot tell", not_applicable: "does not apply" };
  const SHORTEST = 0.5; // seconds below which nothing was looked at
  const lines = new Map(); // by key: what the server says of a line
  const drafts = new Map(); // by key: what is chosen and typed, and not saved yet
  const waiting = { key: "", since: null, seconds: 0 };
  let state = null;
  let index;
  let next;
  let shown = null; // the form on the page

  async function ask(path, body) {
    const posted = body && { method: "POST", keepalive: true, headers: { "content-type": "application/json", "x-csrf": state.csrf }, body: JSON.stringify(body) };
    let response;
    try {
      response = await fetch(path, posted);
    } catch {
      throw new Error("No answer from this machine: `mindgauge view` was stopped. What you typed stays here: copy it, start the command again, and paste it under its new link.");
    }
    const said = response.status === 204 ? null : await response.json().catch(() => ({ error: "The server's answer cannot be read; try again." }));
    if (!response.ok) throw new Error(said.error);
    return said;
  }

  function begin(loaded, goOn) {
    index = loaded;
    next = goOn;
  }

  const ready = ask("state").then((said) => {
    state = { ...said, answered: new Set(said.answered), read: new Set(said.read) };
    progress();
    document.body.dataset.state = "ready";
  });

  function progress() {
    const answered = `${counted(state.answered.size)} of ${counted(state.lines)} answered`;
    document.getElementById("progress").textContent = `${answered}, ${counted(state.read.size)} read.`;
    if (index) Mindgauge.list.draw();
  }

  /* What stands beside a line of the list. */
  function mark(line) {
    if (!state) return null;
    const key = index.keyOf(line);
    const text = state.answered.has(key) ? "answered by you" : state.read.has(key) ? "read" : "";
    return text ? element("span", { class: "mark own" }, text) : null;
  }

  // How long a reply was open, and in sight.

  function opens(key) {
    if (key === waiting.key) return;
    settle();
    Object.assign(waiting, { key, since: key && !document.hidden ? performance.now() : null, seconds: 0 });
  }

  function pause() {
    if (waiting.since !== null) waiting.seconds += (performance.now() - waiting.since) / 1000;
    waiting.since = null;
  }

  async function settle() {
    pause();
    const { key, seconds } = waiting;
    waiting.seconds = 0;
    if (!key || !state || seconds < SHORTEST) return;
    const said = await ask("read", { line: key, seconds }).catch(() => null); // what was read is counted, or not; nobody is kept by it
    if (!said?.read) return;
    said.lines.forEach((line) => state.read.add(line));
    progress();
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) settle();
    else if (waiting.key) waiting.since = performance.now();
  });
  addEventListener("pagehide", settle);

  // The form.

  function form(content, group, rows, language) {
    const key = index.keyOf(content.line);
    const box = element("section", { class: "answering", "aria-labelledby": "answering" });
    shown = { box, key, content, group, rows, language };
    draw(shown, "").catch((error) => box.replaceChildren(element("p", { role: "alert" }, error.message)));
    return box;
  }

  async function draw(place, said, focus = "") {
    await ready;
    if (!lines.has(place.key)) lines.set(place.key, await ask(`lines/${place.key}`));
    const line = lines.get(place.key);
    const draft = drafts.get(place.key);
    const status = element("p", { role: "status", class: "note" }, said);
    const parts = line.fault ? [element("p", {}, line.fault)]
      : draft || (Mindgauge.blind && !line.answer) ? [fields(place, line, draft ?? blank(line))]
        : [line.answer ? answered(place, line) : choices(place, line)];
    place.box.replaceChildren(element("h3", { id: "answering" }, "Your answer"), status, ...parts, line.revealed ? revealed(place, line.revealed) : "");
    document.body.dataset.answering = place.key;
    if (focus) place.box.querySelector(focus)?.focus();
  }

  function blank(line) {
    return { given: { ...line.answer?.given }, note: line.answer?.note ?? "", fault: "" };
  }

  /* The level that all judges give on each criterion; null where they differ or say nothing. */
  function verdict({ rows }, line) {
    return new Map(line.criteria.map(({ name }) => {
      const raters = rows.find((row) => row.criterion.name === name)?.raters.filter((r) => JUDGES.includes(r.kind)) ?? [];
      const levels = new Set(raters.flatMap((r) => r.marks).map((m) => (m.status === "ok" ? m.value : "")));
      return [name, { level: levels.size === 1 ? [...levels][0] : "", any: raters.length > 0 }];
    }));
  }

  function choices(place, line) {
    const judged = [...verdict(place, line).values()].some(({ any }) => any);
    return element("p", { class: "tools" },
      judged ? button("I agree", () => agree(place, line), { "aria-keyshortcuts": "a", class: "agree" }) : null,
      button(judged ? "I disagree" : "Choose levels", () => edit(place, line), { "aria-keyshortcuts": "d", class: "disagree" }));
  }

  function agree(place, line) {
    const verdicts = verdict(place, line);
    const given = Object.fromEntries([...verdicts].filter(([, { level }]) => level).map(([name, { level }]) => [name, { answered: "ok", value: level }]));
    const open = [...verdicts].filter(([, { level, any }]) => any && !level).map(([name]) => name);
    const draft = { ...blank(line), given };
    if (!open.length) return save(place, draft, true);
    draft.fault = `There is no one verdict on ${open.map((name) => inWords(name)).join(", ")}: choose there, then save.`;
    drafts.set(place.key, draft);
    const first = line.criteria.findIndex(({ name }) => name === open[0]);
    return draw(place, "", `fieldset:nth-of-type(${first + 1}) input`);
  }

  function edit(place, line) {
    drafts.set(place.key, drafts.get(place.key) ?? blank(line));
    draw(place, "", "input");
  }

  function answered(place, line) {
    const { given, note, at, later } = line.answer;
    const listed = (answers) => element("dl", { class: "levels" }, line.criteria.filter(({ name }) => own(answers, name)).map(({ name }) =>
      element("div", {}, element("dt", {}, raised(wordsOf(place, name))), element("dd", {}, element("strong", {}, worded(answers[name]))))));
    return element("div", {},
      listed(given),
      note ? element("p", { dir: "auto", class: "own-note" }, note) : null,
      element("p", { class: "note" }, `Kept under the name ${state.who}, ${at}.`),
      later ? [element("p", {}, "Your first answer, given before you saw the verdicts, is the one that counts. Later you said:"), listed(later)] : null,
      element("p", { class: "tools" },
        button("Next", () => next(), { class: "next" }),
        button("Change", () => edit(place, line)),
        button("Delete", (event) => {
          if (event.target.dataset.sure) return remove(place);
          event.target.dataset.sure = "1";
          event.target.textContent = "Delete for good";
          return null;
        })));
  }

  const worded = ({ answered: how, value }) => (how === "ok" ? inWords(value) : OTHERWISE[how] ?? "taken back");
  const listedOf = (place, name) => place.content.section.criteria.find((c) => c.name === name);
  const wordsOf = (place, name) => listedOf(place, name)?.words ?? inWords(name);

  function fields(place, line, draft) {
    const keep = () => drafts.set(place.key, draft);
    return element("form", { on: { submit: (event) => { event.preventDefault(); save(place, draft, false); } } },
      draft.fault ? element("p", { role: "alert" }, draft.fault) : null,
      line.criteria.map((criterion, number) => levels(place, criterion, number, draft, keep)),
      element("label", { for: "note" }, "Note"),
      element("textarea", { id: "note", rows: "3", maxlength: state.longest, on: { input: (event) => { draft.note = event.target.value; keep(); } } }, draft.note),
      element("p", { class: "tools" },
        element("button", { type: "submit", "aria-keyshortcuts": "Control+Enter" }, "Save"),
        line.answer || !Mindgauge.blind ? button("Cancel", () => { drafts.delete(place.key); draw(place, "", "button"); }) : null));
  }

  function levels(place, criterion, number, draft, keep) {
    const meanings = meaning(place, criterion.name);
    const options = [...criterion.levels.map((value, i) => [{ answered: "ok", value }, inWords(value), meanings[i]]),
      ...Object.entries(OTHERWISE).filter(([how]) => how === "cannot_tell" || criterion.not_applicable).map(([answered, text]) => [{ answered, value: null }, text, ""])];
    const chosen = own(draft.given, criterion.name);
    return element("fieldset", {},
      element("legend", {}, raised(wordsOf(place, criterion.name))),
      criterion.question ? element("p", { class: "note" }, criterion.question) : null,
      options.map(([given, text, says], i) => {
        const id = `level-${number}-${i}`;
        const checked = chosen && chosen.answered === given.answered && chosen.value === given.value;
        return element("div", { class: "option" },
          element("input", { type: "radio", id, name: `criterion-${number}`, checked, on: { change: () => { draft.given[criterion.name] = given; keep(); } } }),
          element("label", { for: id }, element("strong", {}, text), says ? element("span", { class: "aside" }, ` – ${says}`) : null));
      }));
  }

  /* What each level looks like, as the verdicts' own table says it. */
  function meaning(place, name) {
    const criterion = listedOf(place, name);
    const texts = criterion && (own(criterion.texts, place.group.protocol) ?? own(criterion.texts, ""));
    return texts ? own(texts, place.language) ?? own(texts, "en") ?? Object.values(texts)[0] : [];
  }

  async function save(place, draft, agreed) {
    const body = { line: place.key, given: draft.given, note: draft.note, agreed, seconds: looked() };
    await sent(place, "answers", body, draft, "Saved.");
  }

  async function remove(place) {
    await sent(place, "withdrawn", { line: place.key }, null, "Deleted; that it stood here is kept.");
  }

  const looked = () => waiting.seconds + (waiting.since === null ? 0 : (performance.now() - waiting.since) / 1000);

  async function sent(place, path, body, draft, said) {
    const button = place.box.querySelector("button[type=submit], .agree");
    if (button) button.disabled = true;
    try {
      const answer = await ask(path, body);
      lines.set(place.key, answer.line);
      for (const key of answer.lines) {
        if (key !== place.key) lines.delete(key);
        if (answer.line.answer) state.answered.add(key);
        else state.answered.delete(key);
      }
      drafts.delete(place.key);
      progress();
      if (shown === place) await draw(place, said, ".next, .agree, .disagree");
    } catch (error) {
      if (draft) drafts.set(place.key, { ...draft, fault: error.message });
      if (shown === place) await draw(place, draft ? "" : error.message, "[role=alert] ~ p button");
    }
  }

  /* What judges said, and who wrote it, once it is answered. */
  function revealed(place, { model, raters, criteria, verdicts }) {
    const rows = Mindgauge.verdicts.gathered({ raters }, { criteria }, verdicts, 0);
    return element("div", { class: "revealed" },
      element("h3", {}, "What others say of it"),
      element("p", {}, `The reply is by ${model}.`),
      rows.length ? Mindgauge.verdicts.table(rows, { protocol: place.group.protocol, language: place.language, own: "" }) : element("p", {}, "Nobody else rated it."));
  }

  function button(text, click, attributes = {}) {
    return element("button", { type: "button", ...attributes, on: { click } }, text);
  }

  addEventListener("keydown", (event) => {
    if (!document.body.dataset.open || !shown?.box.isConnected) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      shown.box.querySelector("form")?.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    const wanted = { a: ".agree", d: ".disagree, form input" }[event.key];
    const target = wanted && shown.box.querySelector(wanted);
    if (!target) return;
    event.preventDefault();
    if (target.matches("button")) target.click();
    else target.focus();
  });

  return { begin, opens, mark, form };
})();
