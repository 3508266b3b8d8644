/* The reader put together: what is loaded, listed, searched and opened, and what the keyboard does. */
"use strict";

(async () => {
  const { filters, list, search, opened, counted } = Mindgauge;
  const byId = (id) => document.getElementById(id);
  const TYPING = 250; // milliseconds after the last letter
  const index = await Mindgauge.index();
  const box = byId("opened");
  const nothing = box.firstElementChild;
  let hits = null;
  let searched = "";
  let share = 1;
  let typing = 0;
  let shown = "";
  let drawn = 0;

  index.byRank = new Uint32Array(index.lines);
  index.rank.forEach((rank, line) => (index.byRank[rank] = line));
  filters.begin(index);
  opened.begin(index);
  Mindgauge.answering?.begin(index, next);
  list.begin(index, (line) => go(filters.address({ open: index.keyOf(line) })));
  byId("hides").replaceChildren(...index.hidden.map((text) => Mindgauge.element("p", { class: "note" }, text)));
  document.body.dataset.ready = "index";

  /* Change the address, by which everything else goes. */
  function go(address) {
    if (location.hash === address) return;
    history.pushState(null, "", address === "#" ? location.pathname : address);
    follow();
  }

  async function follow() {
    await filters.read();
    const state = filters.state();
    if (byId("query").value !== state.q && document.activeElement !== byId("query")) byId("query").value = state.q;
    byId("sort").value = state.sort;
    const others = filters.address({ open: "" });
    if (others !== shown || state.q !== searched) {
      const again = others !== shown;
      shown = others;
      if (state.q !== searched || (state.q && again)) {
        searched = state.q;
        hits = null;
        share = 1;
        search.stop();
        if (state.q) {
          const { lines } = filters.matched(null);
          hits = new Uint8Array(index.lines);
          share = 0;
          search.find(index, state.q, lines, (found, read) => {
            hits = found;
            share = read;
            refresh(false);
          });
        }
      }
      refresh(again);
    }
    await open(state.open);
  }

  function refresh(again) {
    const { lines, counts } = filters.matched(hits);
    list.show(lines, again);
    const chosen = filters.draw(byId("facets"), counts, go);
    const noun = index.sections.every((s) => s.closed) ? "answers" : index.sections.some((s) => s.closed) ? "replies and answers" : index.sections.every((s) => s.dialogues) ? "turns and dialogues" : "replies";
    const of = lines.length === index.lines ? `${counted(index.lines)} ${noun}` : `${counted(lines.length)} of ${counted(index.lines)} ${noun}`;
    const searching = share < 1 ? `, ${Math.round(100 * share)} % searched` : "";
    byId("count").replaceChildren(of + searching, ...(chosen || searched ? [" ", clearing()] : []));
    document.body.dataset.shown = String(lines.length);
    document.body.dataset.searched = String(share);
    document.body.dataset.drawn = String((drawn += 1));
  }

  function clearing() {
    return Mindgauge.element("button", { type: "button", class: "clear", on: { click: () => { byId("query").value = ""; go(filters.clear()); list.focus(); } } }, "Show all");
  }

  async function open(key) {
    const line = key ? index.lineOf(key) : -1;
    Mindgauge.answering?.opens(line < 0 ? "" : key);
    document.body.classList.toggle("is-open", line >= 0);
    list.mark(line);
    if (line < 0) {
      box.replaceChildren(nothing);
      delete document.body.dataset.open;
      return;
    }
    if (document.body.dataset.open === key && box.dataset.query === searched) return;
    box.dataset.query = searched;
    byId("read").scrollTop = 0;
    await opened.show(box, line, searched, () => close());
    document.body.dataset.open = key;
    if (document.activeElement !== byId("list") || narrow()) byId("title").focus({ preventScroll: !narrow() });
  }

  function next(by = 1) {
    const line = list.step(by);
    if (document.body.dataset.open && line >= 0) go(filters.address({ open: index.keyOf(line) }));
  }

  const narrow = () => matchMedia("(max-width: 60rem)").matches;

  function close() {
    go(filters.address({ open: "" }));
    list.focus();
  }

  byId("search").addEventListener("submit", (event) => event.preventDefault());
  byId("query").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => go(filters.address({ q: event.target.value.trim(), open: "" })), TYPING);
  });
  byId("sort").addEventListener("change", (event) => go(filters.address({ sort: event.target.value })));
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    list.focus();
  });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typed = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (event.key === "Escape") {
      if (document.body.dataset.open) close();
      else if (typed) list.focus();
      return;
    }
    if (typed) {
      if (event.key === "ArrowDown" && event.target.id === "query") {
        event.preventDefault();
        list.focus();
      }
      return;
    }
    if (event.key === "/") {
      event.preventDefault();
      byId("query").focus();
      return;
    }
    const inList = event.target.id === "list";
    const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: list.page(), PageUp: -list.page(), Home: -index.lines, End: index.lines } : {}) };
    if (event.key in steps) {
      event.preventDefault();
      next(steps[event.key]);
    } else if ((event.key === "Enter" || event.key === "o") && inList && list.current() >= 0) {
      event.preventDefault();
      go(filters.address({ open: index.keyOf(list.current()) }));
      byId("read").focus();
    }
  });

  await follow();
  document.body.dataset.ready = "all";
})();
