/* The list: as many lines as fit, whatever their number, with the keyboard and a screen reader's count. */
"use strict";

Mindgauge.list = (() => {
  const { element, key, inWords, raised } = Mindgauge;
  const AROUND = 6; // lines drawn above and below what is seen
  const MARKS = [["by_people", "unsafe by people"], ["harm", "harm"], ["missed", "missed"], ["contested", "raters differ"], ["missing", "verdict missing"]];
  let index;
  let box;
  let lines = new Uint32Array(0);
  let active = -1;
  let opened = -1;
  let height = 0;
  let pending = false;

  function begin(loaded, open) {
    index = loaded;
    box = document.getElementById("list");
    box.addEventListener("scroll", later, { passive: true });
    box.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) open(lines[Number(option.dataset.at)]);
    });
    addEventListener("resize", () => {
      height = 0;
      later();
    });
  }

  function later() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  }

  /* Show lines; the list begins anew unless they only grew. */
  function show(shown, again) {
    const line = active >= 0 ? lines[active] : -1;
    lines = shown;
    active = line >= 0 ? lines.indexOf(line) : -1;
    if (again) box.scrollTop = 0;
    if (active < 0 && lines.length) active = 0;
    draw();
  }

  function draw() {
    height ||= parseFloat(getComputedStyle(box).getPropertyValue("--line")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
    const first = Math.max(0, Math.floor(box.scrollTop / height) - AROUND);
    const end = Math.min(lines.length, Math.ceil((box.scrollTop + box.clientHeight) / height) + AROUND);
    const room = element("div", { class: "room", role: "presentation" });
    room.style.height = `${lines.length * height}px`;
    for (let at = first; at < end; at += 1) room.append(option(at));
    if (active >= 0 && (active < first || active >= end)) room.append(option(active)); // what has the focus stays known
    box.replaceChildren(lines.length ? room : element("p", { class: "empty", role: "option", "aria-disabled": "true" }, "No line is like this. Take a filter away."));
    if (active >= 0) box.setAttribute("aria-activedescendant", `line-${lines[active]}`);
    else box.removeAttribute("aria-activedescendant");
  }

  function option(at) {
    const line = lines[at];
    const system = index.systems[index.system[line]];
    const language = index.language.names[index.language.places[line]];
    const words = index.words.names[index.words.places[line]];
    const node = element("div", {
      role: "option", id: `line-${line}`, class: `line${at === active ? " active" : ""}`, "data-at": at, "aria-selected": line === opened ? "true" : "false",
      "aria-setsize": lines.length, "aria-posinset": at + 1,
    },
    element("p", { class: "of" }, key(system), element("span", { class: "what" }, raised(place(line))), index.systems.length > 1 ? element("span", { class: "aside" }, ` – ${system.label}`) : null),
    element("p", { class: "words", lang: language, dir: "auto" }, words || "[not shown]"),
    element("p", { class: "why" }, element("span", {}, index.why.names[index.why.places[line]]), MARKS.filter(([name]) => index.sign[line] & index.signs[name]).map(([, text]) => element("span", { class: "mark" }, text)), Mindgauge.answering?.mark(line) ?? null));
    node.style.transform = `translateY(${at * height}px)`;
    return node;
  }

  /* Name a line by its category, or its place in a dialogue. */
  function place(line) {
    if (Mindgauge.blind) return `reply ${index.rank[line] + 1}`;
    const persona = index.persona.names[index.persona.places[line]];
    const category = index.category.names[index.category.places[line]];
    const label = index.label.names[index.label.places[line]];
    const turn = index.whole[line] ? "whole dialogue" : index.turn[line] ? `turn ${index.turn[line]}` : "";
    const named = [persona || label || category || "no category", turn].filter(Boolean).map(inWords).join(", ");
    return index.repeat[line] ? `${named}, repeat ${index.repeat[line] + 1}` : named;
  }

  /* Go some lines further, and return the one that is reached. */
  function step(by) {
    if (!lines.length) return -1;
    active = Math.min(lines.length - 1, Math.max(0, active < 0 ? 0 : active + by));
    reveal();
    return lines[active];
  }

  function reveal() {
    const top = active * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    draw();
  }

  /* Mark the line that is open. */
  function mark(line) {
    opened = line;
    const at = line < 0 ? -1 : lines.indexOf(line);
    if (at >= 0) active = at;
    if (active >= 0 && height) reveal();
    else draw();
  }

  return { begin, show, draw: later, step, mark, place, current: () => (active >= 0 ? lines[active] : -1), focus: () => box.focus(), position: (line) => lines.indexOf(line), page: () => Math.max(1, Math.floor(box.clientHeight / height) - 1) };
})();
