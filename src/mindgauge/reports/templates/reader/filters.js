/* Which lines are shown: what is chosen stands in the address behind #, so that a link shows the same. */
"use strict";

Mindgauge.filters = (() => {
  const { element, own, inWords, counted } = Mindgauge;
  const SIGNS = [
    ["by_people", "People together call it unsafe"],
    ["unsafe", "Unsafe in the eyes of anyone"],
    ["harm", "Harm was found"],
    ["missed", "A crisis was missed"],
    ["wrong", "Another answer than the label"],
    ["contested", "Raters lie half the scale or more apart"],
    ["missing", "A verdict is missing"],
    ["no_reply", "No reply, or an empty one"],
    ["read", "Rated by people"],
    ["unread", "Not rated by people"],
    ["unrated", "Without any verdict"],
    ["withheld", "Rated only by judges whose scores are withheld"],
    ["restricted", "Texts that may not be shown"],
  ];
  const LANGUAGES = { en: "English", zh: "Chinese", de: "German", es: "Spanish", fr: "French" };
  const MOST_OPTIONS = 200;
  let index;
  let facets = [];
  let state = { q: "", sort: "", open: "", criterion: "", by: "", level: [], sign: [] };
  let passes = null; // by line: whether a verdict is as wanted

  /* A facet: its name in the address, its title, its options, and of each line the place of its option. */
  function listed(name, title, names, places, label = inWords) {
    const present = new Set(places);
    const options = names.map((text, place) => ({ text, place, label: label(text) })).filter(({ text, place }) => text && present.has(place));
    return { name, title, options, places, sets: null, chosen: new Set() };
  }

  function begin(loaded) {
    index = loaded;
    const sections = index.sections;
    const benchmarks = [...new Set(sections.map((s) => s.benchmark))];
    const ofSection = sections.map((s) => benchmarks.indexOf(s.benchmark));
    const titles = new Map(sections.map((s) => [s.benchmark, s.title]));
    const column = (name, title, label) => listed(name, title, index[name].names, index[name].places, label);
    facets = [
      listed("system", "Model", index.systems.map((s) => s.label), index.system, (text) => text),
      listed("benchmark", "Benchmark", benchmarks, index.section.map((s) => ofSection[s]), (text) => titles.get(text)),
      column("category", "Crisis or category"),
      column("language", "Language", (code) => own(LANGUAGES, code) ?? code),
      column("label", "Label of the message"),
      column("answer", "Answer of the model"),
      column("persona", "Person in the dialogue"),
      { ...listed("rater", "Rated by", [], []), sets: index.rater.sets, places: index.rater.places },
    ];
    const rater = facets.at(-1);
    const present = new Set(index.rater.sets.flat());
    rater.options = index.raters.map((r, place) => ({ text: r.name, place, label: r.kind === "person" ? `${r.name} (a person)` : r.name })).filter((o) => present.has(o.place));
    facets = facets.filter((facet) => facet.options.length > 1 || (facet.options.length === 1 && facet.places.includes(0) && facet.name !== "system"));
    for (const facet of facets) facet.byText = new Map(facet.options.map((o) => [o.text, o.place]));
  }

  /* Read the state from the address. */
  async function read() {
    const said = new URLSearchParams(location.hash.slice(1));
    state = {
      q: said.get("q") ?? "", sort: said.get("sort") === "data" ? "data" : "", open: said.get("open") ?? "",
      criterion: said.get("criterion") ?? "", by: said.get("by") ?? "", level: said.getAll("level"), sign: said.getAll("sign"),
    };
    if (!index.sections.some((s) => s.rated.some((number) => s.criteria[number].name === state.criterion))) state.criterion = "";
    for (const facet of facets) facet.chosen = new Set(said.getAll(facet.name));
    await judge();
  }

  /* Write the state into the address. */
  function address(changes = {}) {
    const now = { ...state, ...changes };
    const said = new URLSearchParams();
    for (const facet of facets) for (const text of facet.chosen) said.append(facet.name, text);
    for (const name of ["sign", "criterion", "level", "by", "q", "sort", "open"]) {
      for (const value of [now[name]].flat()) if (value) said.append(name, value);
    }
    return `#${said}`;
  }

  /* Say of each line whether a verdict on the chosen criterion is at a chosen level. */
  async function judge() {
    passes = null;
    if (!state.criterion) return;
    const wanted = new Uint8Array(index.lines);
    const counts = new Map();
    for (const [place, section] of index.sections.entries()) {
      const number = section.criteria.findIndex((c) => c.name === state.criterion);
      if (number < 0 || !section.rated.includes(number)) continue;
      const criterion = section.criteria[number];
      const names = [...criterion.values, "none"];
      const columns = (await Mindgauge.levelsOf(place, number)).filter(({ rater }) =>
        state.by ? index.raters[rater].name === state.by : !(rater in criterion.withheld));
      for (const { sets, places } of columns) {
        const levels = sets.map((set) => set.map((level) => names[level]));
        const good = levels.map((set) => (state.level.length ? set.some((name) => state.level.includes(name)) : set.length > 0));
        for (let i = 0; i < places.length; i += 1) {
          if (places[i] === 0) continue;
          const line = section.first + i;
          if (good[places[i]]) wanted[line] = 1;
          for (const name of levels[places[i]]) {
            if (!counts.has(name)) counts.set(name, new Set());
            counts.get(name).add(line);
          }
        }
      }
    }
    passes = { wanted, counts };
  }

  /* Return the lines that are shown, in their order, and how many each option would show. */
  function matched(hits) {
    const n = index.lines;
    const tests = facets.filter((facet) => facet.chosen.size).map((facet) => ({ facet, allowed: allowed(facet) }));
    const testOf = new Map(tests.map((test, number) => [test.facet, number]));
    const signs = state.sign.reduce((sum, name) => sum | (own(index.signs, name) ?? 0), 0);
    const unread = state.sign.includes("unread");
    const tallies = facets.map((facet) => new Uint32Array(facet.sets ? facet.sets.length : 1 + Math.max(0, ...facet.options.map((o) => o.place))));
    const signTally = new Map(SIGNS.map(([name]) => [name, 0]));
    const pass = new Uint8Array(n);
    const bits = SIGNS.map(([name]) => [name, index.signs[name] ?? 0]).filter(([, bit]) => bit);
    const bySign = new Uint32Array(1 << 16);
    let unjudged = 0;
    const beside = passes ? new Uint8Array(n) : null; // lines that only the verdict keeps out, and those that pass
    for (let line = 0; line < n; line += 1) {
      const sign = index.sign[line];
      if ((sign & signs) !== signs || (unread && sign & index.signs.read) || (hits && !hits[line])) continue;
      let failed = -1;
      let failures = 0;
      for (let t = 0; t < tests.length && failures < 2; t += 1) {
        if (!tests[t].allowed[tests[t].facet.places[line]]) {
          failed = t;
          failures += 1;
        }
      }
      if (failures > 1) continue;
      const judged = !passes || passes.wanted[line] === 1;
      if (failures === 0) {
        if (beside) beside[line] = 1;
        if (!judged) {
          unjudged += 1;
          continue;
        }
        pass[line] = 1;
        bySign[sign] += 1;
        for (let f = 0; f < facets.length; f += 1) tallies[f][facets[f].places[line]] += 1;
      } else if (judged) {
        const f = facets.indexOf(tests[failed].facet);
        tallies[f][facets[f].places[line]] += 1;
      }
    }
    for (let sign = 0; sign < bySign.length; sign += 1) {
      if (!bySign[sign]) continue;
      for (const [name, bit] of bits) if (sign & bit) signTally.set(name, signTally.get(name) + bySign[sign]);
      if (!(sign & index.signs.read)) signTally.set("unread", signTally.get("unread") + bySign[sign]);
    }
    const order = new Uint32Array(n);
    let length = 0;
    for (let i = 0; i < n; i += 1) {
      const line = state.sort ? i : index.byRank[i];
      if (pass[line]) order[length++] = line;
    }
    return { lines: order.subarray(0, length), counts: counts(tallies, signTally, beside), tests: testOf.size };
  }

  function allowed(facet) {
    const wanted = new Set([...facet.chosen].map((text) => facet.byText.get(text)));
    if (facet.sets) return facet.sets.map((set) => set.some((place) => wanted.has(place)));
    return Uint8Array.from({ length: 1 + Math.max(0, ...facet.options.map((o) => o.place)) }, (_, place) => (wanted.has(place) ? 1 : 0));
  }

  function counts(tallies, signs, beside) {
    const byFacet = new Map();
    facets.forEach((facet, f) => {
      const tally = new Map();
      if (facet.sets) facet.sets.forEach((set, place) => set.forEach((member) => tally.set(member, (tally.get(member) ?? 0) + tallies[f][place])));
      else tallies[f].forEach((n, place) => tally.set(place, n));
      byFacet.set(facet.name, tally);
    });
    const levels = new Map();
    if (passes) for (const [name, lines] of passes.counts) levels.set(name, [...lines].reduce((sum, line) => sum + beside[line], 0));
    return { byFacet, signs, levels };
  }

  /* Draw the filters; `go` is called with each change of the address. */
  function draw(box, counted_, go) {
    const focused = box.contains(document.activeElement) ? document.activeElement.id : "";
    const groups = [signs(counted_, go), ...facets.map((facet) => options(facet, counted_.byFacet.get(facet.name), go)), verdict(counted_, go)];
    box.replaceChildren(...groups.filter(Boolean));
    if (focused) document.getElementById(focused)?.focus();
    const n = facets.reduce((sum, facet) => sum + facet.chosen.size, 0) + state.sign.length + (state.criterion ? 1 : 0);
    document.getElementById("filtered").textContent = n ? ` – ${counted(n)} chosen` : "";
    return n;
  }

  function choice(id, label, n, checked, change) {
    const input = element("input", { type: "checkbox", id, checked, on: { change } });
    return element("li", { class: n || checked ? "" : "idle" }, element("label", { for: id }, input, element("span", {}, label), element("span", { class: "n" }, counted(n))));
  }

  function signs({ signs: tally }, go) {
    const items = SIGNS.filter(([name]) => state.sign.includes(name) || tally.get(name) > 0).map(([name, label]) =>
      choice(`sign-${name}`, label, tally.get(name), state.sign.includes(name), (event) => {
        const sign = event.target.checked ? [...state.sign, name] : state.sign.filter((other) => other !== name);
        go(address({ sign, open: "" }));
      }));
    return items.length ? element("fieldset", {}, element("legend", {}, "What to look for"), element("ul", {}, items)) : null;
  }

  function options(facet, tally, go) {
    const sorted = facet.options.map((o) => ({ ...o, n: tally.get(o.place) ?? 0 }));
    if (!["system", "benchmark"].includes(facet.name)) sorted.sort((a, b) => facet.chosen.has(b.text) - facet.chosen.has(a.text) || b.n - a.n || a.place - b.place);
    const items = sorted.slice(0, MOST_OPTIONS).map((o) =>
      choice(`${facet.name}-${o.place}`, o.label, o.n, facet.chosen.has(o.text), (event) => {
        if (event.target.checked) facet.chosen.add(o.text);
        else facet.chosen.delete(o.text);
        go(address({ open: "" }));
      }));
    const rest = sorted.length - MOST_OPTIONS;
    return element("fieldset", {}, element("legend", {}, facet.title), element("ul", {}, items), rest > 0 ? element("p", { class: "note" }, `${counted(rest)} more, with fewer lines`) : null);
  }

  /* The filter by verdict: a criterion, its levels, and who gave them. */
  function verdict({ levels }, go) {
    const known = new Map();
    for (const section of index.sections) for (const number of section.rated) {
      const criterion = section.criteria[number];
      if (!known.has(criterion.name)) known.set(criterion.name, criterion);
    }
    if (!known.size) return null;
    const select = (id, label, values, current, change) =>
      element("label", { class: "choose" }, element("span", {}, label), element("select", { id, on: { change } },
        values.map(([value, text]) => element("option", { value, selected: value === current }, text))));
    const first = select("criterion", "Criterion", [["", "any"], ...[...known.values()].map((c) => [c.name, c.words])], state.criterion,
      (event) => go(address({ criterion: event.target.value, level: [], by: "", open: "" })));
    const parts = [element("legend", {}, "Verdict"), first];
    if (state.criterion && known.has(state.criterion)) {
      parts.push(select("by", "By", [["", "anyone"], ...index.raters.filter((r) => r.kind !== "rule").map((r) => [r.name, r.name])], state.by,
        (event) => go(address({ by: event.target.value, open: "" }))));
      const names = [...known.get(state.criterion).values, "none"];
      const items = names.filter((name) => levels.get(name) || state.level.includes(name)).map((name, place) =>
        choice(`level-${place}`, name === "none" ? "no usable verdict" : inWords(name), levels.get(name) ?? 0, state.level.includes(name), (event) => {
          const level = event.target.checked ? [...state.level, name] : state.level.filter((other) => other !== name);
          go(address({ level, open: "" }));
        }));
      parts.push(element("ul", {}, items));
    }
    return element("fieldset", {}, parts);
  }

  function clear() {
    for (const facet of facets) facet.chosen.clear();
    return address({ sign: [], criterion: "", level: [], by: "", q: "", open: "" });
  }

  return { begin, read, address, matched, draw, clear, state: () => state };
})();
