/* One table of verdicts a reply: harms first, then where raters differ; each level in words, with who gave it and why. */
"use strict";

Mindgauge.verdicts = (() => {
  const { element, own, inWords, raised } = Mindgauge;
  const CONTESTED = 0.5;

  /* Gather a line's verdicts: criterion by criterion, rater by rater, repeats together. */
  function gathered(index, section, verdicts, line) {
    const byCriterion = new Map();
    for (let i = verdicts.line.indexOf(line); i >= 0 && i < verdicts.line.length && verdicts.line[i] === line; i += 1) {
      const number = verdicts.criterion[i];
      const criterion = section.criteria[number];
      if (!byCriterion.has(number)) byCriterion.set(number, { criterion, number, raters: new Map() });
      const { raters } = byCriterion.get(number);
      const rater = verdicts.rater[i];
      if (!raters.has(rater)) raters.set(rater, { rater: index.raters[rater], place: rater, kind: verdicts.kind[i], marks: [], withheld: criterion.withheld[rater] });
      raters.get(rater).marks.push({
        run: verdicts.run[i], status: verdicts.status[i], level: verdicts.level[i], protocol: verdicts.protocol[i],
        value: verdicts.level[i] >= 0 ? criterion.values[verdicts.level[i]] : verdicts.other[i] ?? "",
        reason: verdicts.reasons[verdicts.reason[i]], quotes: verdicts.quoted[verdicts.quotes[i]] ?? [], said: verdicts.reason[i],
      });
    }
    const rows = [...byCriterion.values()];
    for (const row of rows) {
      row.raters = [...row.raters.values()];
      const places = row.raters.filter((r) => !r.withheld && r.kind !== "rule").flatMap((r) => r.marks).map((m) => row.criterion.places[m.level]).filter((p) => p !== undefined && p !== null);
      row.contested = places.length > 1 && Math.max(...places) - Math.min(...places) >= CONTESTED;
      row.worst = Math.min(1, ...places);
      row.rule = row.raters.every((r) => r.kind === "rule");
    }
    return rows.sort((a, b) => a.rule - b.rule || b.criterion.harm - a.criterion.harm || b.contested - a.contested || a.number - b.number);
  }

  /* Return the words that raters quote from a line and that stand there. */
  function quoted(rows) {
    return rows.flatMap((row) => row.raters.flatMap((r) => r.marks.flatMap((m) => m.quotes.filter(([, found]) => found).map(([text]) => text))));
  }

  /* Put raters who say the same without a reason of their own in one line; each reason stands once, where it is first given. */
  function lines(raters, said) {
    const found = [];
    for (const rater of raters) {
      const reasons = rater.marks.filter((m) => {
        const key = `${rater.place}\n${m.said}\n${JSON.stringify(m.quotes)}`;
        if ((!m.reason && !m.quotes.length) || said.has(key)) return false;
        return said.add(key);
      });
      const level = rater.marks.map((m) => m.value || m.status).join("\n");
      const last = found.at(-1);
      if (last && !reasons.length && !last.reasons.length && last.level === level) last.raters.push(rater);
      else found.push({ raters: [rater], level, reasons });
    }
    return found;
  }

  /* `own` is the rater whose answer is open, if any, which comes first. */
  function table(rows, facts) {
    const said = new Set();
    const { own: rater } = facts;
    return element("table", { class: "judged" },
      element("caption", {}, rater ? "Answers" : "Verdicts, criterion by criterion"),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, rater ? "Answer" : "Level"), element("th", { scope: "col" }, "Given by; a reason stands where it is first given"))),
      rows.map((row) => element("tbody", {},
        element("tr", { class: "criterion" }, element("th", { scope: "rowgroup", colspan: "2" }, element("span", { class: "what" }, raised(row.criterion.words)), row.contested && !rater ? element("span", { class: "mark" }, "raters differ") : null, meaning(row, facts))),
        lines([...row.raters].sort((a, b) => (b.rater.name === rater) - (a.rater.name === rater)), said).map(given))));
  }

  function given({ raters, reasons }) {
    const { marks } = raters[0];
    const levels = marks.map((m, i) => [i ? "; " : "", element("strong", {}, m.value !== "" ? inWords(m.value) : inWords(m.status))]);
    const first = element("tr", {}, element("td", { class: "level" }, levels), element("td", {}, raters.map((rater, i) => [i ? "; " : "", who(rater)])));
    return reasons.length ? [first, element("tr", { class: "reasons" }, element("td", { colspan: "2" }, reasons.map((m) => reason(m, marks.length))))] : [first];
  }

  function who({ rater, kind, withheld }) {
    const aside = kind === "person" ? " (a person)" : kind === "rule" ? " (a rule)" : "";
    return [rater.name, aside ? element("span", { class: "aside" }, aside) : null, withheld ? element("span", { class: "note withheld" }, ` – withheld from every figure: ${withheld}`) : null];
  }

  function reason(mark, repeats) {
    const [, text, language] = mark.reason ?? [];
    return [
      text ? element("p", {}, repeats > 1 ? element("span", { class: "aside" }, `Repeat ${mark.run + 1}: `) : null, element("span", { lang: language, dir: "auto" }, text)) : null,
      ...mark.quotes.map(([quote, found]) => element("p", { class: "quote" }, element("q", { dir: "auto" }, quote), " ", found ? element("span", { class: "aside" }, "(found in the text)") : element("strong", { class: "flag" }, "not in the text"))),
    ];
  }

  /* What the levels look like, one click away. */
  function meaning({ criterion, raters }, { protocol, language }) {
    const named = raters.flatMap((r) => r.marks).map((m) => m.protocol).find((name) => own(criterion.texts, name));
    const texts = own(criterion.texts, named ?? protocol) ?? own(criterion.texts, "");
    if (!texts) return null;
    const chosen = own(texts, language) ? language : own(texts, "en") ? "en" : Object.keys(texts)[0];
    const worded = criterion.values.map((value, i) => [value, texts[chosen][i], i]).filter(([, text]) => text);
    if (!worded.length) return null;
    const levels = new Set(raters.flatMap((r) => r.marks).map((m) => m.level));
    return element("details", { class: "meaning" }, element("summary", {}, "What the levels mean"),
      element("dl", { class: "levels", lang: chosen }, worded.map(([value, text, i]) => element("div", { class: levels.has(i) ? "given" : "" }, element("dt", {}, inWords(value)), element("dd", {}, text)))));
  }

  return { gathered, quoted, table };
})();
