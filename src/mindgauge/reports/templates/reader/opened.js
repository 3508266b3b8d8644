/* The opened line: the dialogue as a chat, the reply as the person saw it, its repeats beside it, and the verdicts. */
"use strict";

Mindgauge.opened = (() => {
  const { element, key, drawing, inWords, raised, counted } = Mindgauge;
  const AT_ONCE = 30000; // characters of one text
  const WHO = { user: "Person", assistant: "Assistant", system: "System" };
  const STATUS = { failed: "no reply came", refused: "the model declined", filtered: "blocked by a filter", unparsable: "nothing that can be read" };
  let index;
  let plain = false;
  let last = () => {};

  function begin(loaded) {
    index = loaded;
  }

  /* Show a line in the box. */
  async function show(box, line, query, go) {
    const number = Mindgauge.shardOf(index, line);
    const shard = await Mindgauge.shard(number);
    const own = line - index.shards[number];
    const content = { line, own, shard, section: index.sections[index.section[line]], verdicts: shard.verdicts(), query, go };
    last = () => draw(box, content);
    last();
    const turn = box.querySelector(".dialogue ~ .chat .opened-turn");
    if (turn) turn.scrollIntoView({ block: "nearest" });
  }

  function groupOf(texts, own) {
    return texts.groups.findLast((group) => group.first <= own);
  }

  function draw(box, content) {
    const { line, own, shard, section, verdicts, query, go } = content;
    const { texts } = shard;
    const group = groupOf(texts, own);
    const system = index.systems[index.system[line]];
    const language = index.language.names[index.language.places[line]] || "en";
    const rows = Mindgauge.verdicts.gathered(index, section, verdicts, section.closed ? group.first : own);
    const quotes = Mindgauge.verdicts.quoted(rows);
    const others = siblings(content, group);
    const repeats = others.filter((other) => index.system[other] === index.system[line] && !group.dialogue && !section.closed);
    box.replaceChildren(
      element("div", { class: "heading-row" },
        element("h2", { tabindex: "-1", id: "title" }, key(system), raised(Mindgauge.list.place(line))),
        element("div", { class: "tools" },
          element("button", { type: "button", "aria-pressed": String(plain), on: { click: () => { plain = !plain; last(); document.querySelector(".tools button").focus(); } } }, "Plain text"),
          element("button", { type: "button", on: { click: () => go("") } }, "Close"))),
      element("p", { class: "note" }, facts(line, section, group)),
      group.place ? element("p", {}, `A restricted text, not shown here: ${group.place}.`) : "",
      group.ribbon ? element("figure", { class: "dialogue" }, element("div", { class: "picture", role: "img", "aria-label": group.caption }, drawing(group.ribbon)), element("figcaption", {}, element("p", {}, group.caption))) : "",
      chat(content, group, system, quotes),
      repeats.length > 1 ? beside(content, repeats, quotes) : "",
      Mindgauge.blind ? "" : judged(rows, content, group, language),
      Mindgauge.answering?.form(content, group, rows, language) ?? "",
      more(content, others.filter((other) => other !== line && !repeats.includes(other)), group),
    );
  }

  /* What raters said. */
  function judged(rows, { line, section }, group, language) {
    const own = section.closed ? index.systems[index.system[line]].model : "";
    return element("div", {},
      element("h3", {}, section.closed ? "Answers" : "Verdicts"),
      section.closed ? label(line, group) : "",
      rows.length ? Mindgauge.verdicts.table(rows, { protocol: group.protocol, language, own }) : element("p", {}, "Nobody rated it."));
  }

  function facts(line, section, group) {
    const system = index.systems[index.system[line]];
    const parts = [system.label, section.title, section.run];
    const category = index.category.names[index.category.places[line]];
    if (category && !Mindgauge.list.place(line).startsWith(inWords(category))) parts.push(inWords(category));
    return [parts.filter(Boolean).join(" – "), element("br"), `${raised(index.why.names[index.why.places[line]])}.`];
  }

  function label(line, group) {
    const target = index.label.names[index.label.places[line]];
    return element("p", {}, target ? ["The label that comes with the message is ", element("strong", {}, inWords(target)), "."] : "No label comes with the message.");
  }

  /* The lines of the same group, whatever the filters. */
  function siblings({ line }, group) {
    const found = [];
    let at = line;
    while (at > 0 && index.group[at - 1] === index.group[line]) at -= 1;
    for (; at < index.lines && index.group[at] === index.group[line]; at += 1) found.push(at);
    return found;
  }

  function chat(content, group, system, quotes) {
    const { texts } = content.shard;
    const { own, section } = content;
    const bubbles = element("div", { class: "chat" });
    if (group.dialogue) {
      const end = group.ends[own - group.first];
      group.messages.forEach(([role, text, language], i) => {
        const mine = i === end;
        if (mine) bubbles.append(thought(content));
        bubbles.append(bubble(mine ? "reply" : role, mine ? `Reply by ${system.label}` : role === "assistant" ? system.label : WHO[role], text, language, role !== "user", content, mine ? quotes : [], mine || (i === end - 1 && role === "user") ? system : null, mine));
      });
      if (texts.replies[own] === "" && end >= group.messages.length) bubbles.append(missing(texts.statuses[own], system));
      return bubbles;
    }
    const messages = texts.histories[own] ?? group.messages;
    messages.forEach(([role, text, language], i) => {
      const asked = section.about_reply && i === messages.length - 1;
      bubbles.append(bubble(asked ? "reply" : role, asked ? "The reply that is asked about" : WHO[role], text, language, role === "assistant", content, quotes, null, asked));
    });
    if (!section.closed && texts.replies[own] !== null) bubbles.append(thought(content), reply(content, own, system, quotes));
    return bubbles;
  }

  /* What the model thought before the reply, folded; it is no reply. A person who rates blind sees the reply alone. */
  function thought({ shard: { texts }, own }) {
    const text = Mindgauge.blind ? "" : texts.reasoning[own];
    if (!text) return "";
    return element("details", { class: "bubble reasoning" }, element("summary", { class: "who" }, "The model's reasoning before the reply; the person does not see it"), element("div", { class: "said", dir: "auto" }, text));
  }

  function reply({ shard: { texts }, ...content }, own, system, quotes) {
    const text = texts.replies[own];
    if (text === "") return missing(texts.statuses[own], system);
    return bubble("reply", `Reply by ${system.label}`, text, texts.languages[own], true, content, quotes, system, true);
  }

  function missing(status, system) {
    return element("div", { class: `bubble reply m${system.colour}` }, element("p", { class: "who" }, `Reply by ${system.label}`), element("p", { class: "aside" }, `[${STATUS[status] ?? "empty"}]`));
  }

  function bubble(role, who, text, language, formatted, { query }, quotes, system, opened) {
    const box = element("div", { class: "said", lang: language, dir: "auto" });
    const rest = element("p");
    let shown = AT_ONCE;
    const fill = () => {
      const part = text.slice(0, shown);
      box.className = formatted && !plain ? "said markdown" : "said";
      box.replaceChildren(formatted && !plain ? Mindgauge.markdown.nodes(part) : part);
      Mindgauge.markdown.mark(box, quotes, query);
      rest.replaceChildren(...(text.length > shown ? [element("button", { type: "button", on: { click: () => { shown += 4 * AT_ONCE; fill(); } } }, `Show more: ${counted(text.length - shown)} characters follow`)] : []));
    };
    fill();
    return element("div", { class: `bubble ${role}${system ? ` m${system.colour}` : ""}${opened ? " opened-turn" : ""}` }, element("p", { class: "who" }, who), box, text.length > shown ? rest : null);
  }

  /* Repeats of the same model, side by side. */
  function beside(content, repeats, quotes) {
    const { texts } = content.shard;
    const first = index.shards[Mindgauge.shardOf(index, content.line)];
    const cells = repeats.map((line) => {
      const own = line - first;
      const here = line === content.line;
      return element("li", { class: here ? "here" : "" },
        element("p", { class: "who" }, here ? `Repeat ${index.repeat[line] + 1}, above` : link(line, `Repeat ${index.repeat[line] + 1}`)),
        element("p", { class: "note" }, index.why.names[index.why.places[line]]),
        here ? null : element("div", { class: "said", lang: texts.languages[own], dir: "auto" }, short(texts.replies[own], texts.statuses[own])));
    });
    return element("details", { class: "more", open: true }, element("summary", {}, `The ${counted(repeats.length)} replies of this model to the same message, side by side`), element("ul", { class: "beside" }, cells));
  }

  function short(text, status) {
    if (!text) return `[${STATUS[status] ?? "empty"}]`;
    const part = text.length > 1500 ? `${text.slice(0, 1500)}…` : text;
    return plain ? part : element("div", { class: "markdown" }, Mindgauge.markdown.nodes(part));
  }

  function link(line, text) {
    return element("a", { href: Mindgauge.filters.address({ open: index.keyOf(line) }) }, text);
  }

  /* What else there is to the same message or in the same dialogue. */
  function more({ section }, others, group) {
    if (!others.length) return "";
    const title = group.dialogue ? "Other turns of this dialogue" : section.closed ? "Other answers to this message" : "Replies of other models to this message";
    const items = others.map((line) => {
      const system = index.systems[index.system[line]];
      return element("li", {}, key(system), link(line, group.dialogue ? Mindgauge.list.place(line) : system.label + (index.repeat[line] ? `, repeat ${index.repeat[line] + 1}` : "")), element("span", { class: "aside" }, ` – ${index.why.names[index.why.places[line]]}`));
    });
    return element("div", {}, element("h3", {}, title), element("ul", { class: "others" }, items));
  }

  function empty(box, first) {
    box.replaceChildren(first);
  }

  return { begin, show, empty };
})();

/* Return what a turn of a dialogue answers: the person's message before it, of a whole dialogue everything. */
Mindgauge.addressed = (group, texts, own) => {
  const end = group.ends[own - group.first];
  return end >= group.messages.length || end < 1 ? group.messages : [group.messages[end - 1]];
};
