// Words of the dialogue or the reply, marked as evidence: by mouse or finger, or word by word with the keyboard.
// A mark is `source|words`, in a hidden field of the form each.

export function marking(form, tell, typed) {
  const texts = form.dataset;
  const marks = form.querySelector(".marks");
  const bar = document.getElementById("markbar");
  const help = document.getElementById("mark-help");
  const blocks = [...document.querySelectorAll(".dialogue .said, .reply .said")];
  const parts = (value) => [value.slice(0, value.indexOf("|")), value.slice(value.indexOf("|") + 1)];
  const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
  let cursor = null; // of the keyboard: turn, first word, last word

  function list(value) {
    const [source, quote] = parts(value);
    const item = made("li", {});
    const remove = made("button", { type: "button", className: "plain", textContent: texts.remove });
    remove.setAttribute("aria-label", texts.removeQuote.replace("{quote}", quote));
    remove.addEventListener("click", () => {
      item.remove();
      paint();
      typed();
      tell(texts.removed);
      document.getElementById("mark-mode").focus();
    });
    item.append(made("input", { type: "hidden", name: "evidence", value }), made("q", { textContent: quote }));
    if (source === "dialogue") item.append(made("span", { className: "muted small", textContent: texts.inDialogue }));
    item.append(remove);
    marks.append(item);
  }

  const listed = () => [...marks.querySelectorAll("input")].map((input) => input.value);

  function set(values) {
    marks.replaceChildren();
    for (const value of values) list(value);
    paint();
  }

  function paint() {
    if (!CSS.highlights) return;
    const ranges = [];
    for (const [source, quote] of listed().map(parts)) {
      const block = blocks.find((one) => (!source || one.dataset.source === source) && one.textContent.includes(quote));
      if (!block?.firstChild) continue;
      const [at, range] = [block.textContent.indexOf(quote), new Range()];
      range.setStart(block.firstChild, at);
      range.setEnd(block.firstChild, at + quote.length);
      ranges.push(range);
    }
    CSS.highlights.set("evidence", new Highlight(...ranges));
  }

  // What is selected of each turn; a selection may run over several.
  function selected() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return [];
    const range = selection.getRangeAt(0);
    const touched = blocks.filter((block) => range.intersectsNode(block));
    const cut = touched.map((block) => {
      const part = range.cloneRange();
      if (!block.contains(range.startContainer)) part.setStart(block, 0);
      if (!block.contains(range.endContainer)) part.setEnd(block, block.childNodes.length);
      return `${block.dataset.source}|${part.toString().trim()}`;
    });
    return cut.filter((value) => !value.endsWith("|"));
  }

  function mark() {
    const found = selected();
    const known = listed();
    for (const value of found) if (!known.includes(value)) list(value);
    if (found.length) {
      tell(texts.marked.replace("{quote}", found.map((value) => parts(value)[1]).join(" … ")));
      typed();
      paint();
    }
    if (!cursor) getSelection().removeAllRanges();
  }

  function keyboard(on) {
    const cover = blocks[0].closest("details:not([open])");
    if (on) document.getElementById("show-both")?.click(); // what is folded cannot be marked
    if (on && cover) return cover.querySelector("summary").focus(); // covered words are not shown unasked
    cursor = null;
    document.documentElement.classList.toggle("marking", on);
    if (on) go(blocks.length - 1, 0, 0);
    else getSelection().removeAllRanges();
    help.textContent = on ? help.dataset.help : "";
    bar.hidden = !on;
  }

  function go(turn, first, last) {
    const block = blocks[turn];
    const segments = new Intl.Segmenter(block.lang || undefined, { granularity: "word" }).segment(block.textContent);
    const words = [...segments].filter((word) => word.isWordLike);
    if (!words.length) return;
    const within = (index) => Math.min(Math.max(index, 0), words.length - 1);
    cursor = { turn, first: within(first), last: within(last) };
    const [from, to] = [cursor.first, cursor.last].sort((a, b) => a - b).map((index) => words[index]);
    getSelection().setBaseAndExtent(block.firstChild, from.index, block.firstChild, to.index + to.segment.length);
    block.scrollIntoView({ block: "nearest" });
    help.textContent = getSelection().toString();
  }

  // Takes a key while words are marked with the keyboard; says whether it did.
  function takes(event) {
    if (!cursor) return false;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const turn = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) go(cursor.turn, event.shiftKey ? cursor.first : cursor.last + step, cursor.last + step);
    else if (turn) go(Math.min(Math.max(cursor.turn + turn, 0), blocks.length - 1), 0, 0);
    else if (event.key === "Enter") mark();
    else if (event.key === "Escape") keyboard(false);
    else return event.key.length === 1; // letters rest meanwhile
    event.preventDefault();
    return true;
  }

  document.addEventListener("selectionchange", () => {
    if (!cursor) bar.hidden = !selected().length;
  });
  document.getElementById("mark").addEventListener("click", mark);
  document.getElementById("mark-mode").addEventListener("click", () => keyboard(true));
  set(listed());
  return { set, takes, begin: () => (selected().length ? mark() : keyboard(true)) };
}
