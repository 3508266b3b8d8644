/* The reader's data: files of this folder, each of which hands its content over as JSON text. */
"use strict";

const Mindgauge = (() => {
  const MOST_SHARDS = 12; // texts of so many files stay at hand
  const waiting = new Map();
  const policy = globalThis.trustedTypes
    ? trustedTypes.createPolicy("mindgauge", { createScriptURL: (name) => address(name) })
    : { createScriptURL: (name) => address(name) };
  const shards = new Map();
  const levels = new Map();
  const started = {};
  started.index = new Promise((resolve) => waiting.set("index", { resolve }));

  function address(name) {
    if (!/^(?:\d+|levels-\d+-\d+)$/.test(name)) throw new TypeError(`no file of the reader: ${name}`);
    return `data/${name}.js`;
  }

  /* Called by the files themselves. */
  function load(name, ...contents) {
    waiting.get(name)?.resolve(contents);
    waiting.delete(name);
  }

  /* Fetching is barred to pages that are opened from a folder; a script of the same folder is not. */
  function file(name) {
    const known = waiting.get(name);
    if (known) return known.promise;
    const entry = {};
    entry.promise = new Promise((resolve, reject) => {
      entry.resolve = resolve;
      const script = document.createElement("script");
      script.src = policy.createScriptURL(name);
      script.onload = () => script.remove();
      script.onerror = () => {
        waiting.delete(name);
        script.remove();
        reject(new Error(`data/${name}.js is missing from this folder`));
      };
      document.head.append(script);
    });
    waiting.set(name, entry);
    return entry.promise;
  }

  /* Return the numbers of a packed column. */
  function numbers(column) {
    const text = atob(column.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    return column.bytes === 1 ? bytes : column.bytes === 2 ? new Uint16Array(bytes.buffer) : new Uint32Array(bytes.buffer);
  }

  /* Return the number of the file that holds a line. */
  function shardOf(index, line) {
    let low = 0;
    let high = index.shards.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (index.shards[middle] <= line) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /* Return a file's texts, and its verdicts as what reads them: who only searches reads no verdicts. */
  async function shard(number) {
    const known = shards.get(number);
    if (known) {
      shards.delete(number);
      shards.set(number, known);
      return known;
    }
    const [texts, verdicts] = await file(String(number).padStart(4, "0"));
    let read = null;
    const content = { texts: JSON.parse(texts), verdicts: () => (read ??= JSON.parse(verdicts)) };
    shards.set(number, content);
    if (shards.size > MOST_SHARDS) shards.delete(shards.keys().next().value);
    return content;
  }

  /* Return who gave which level on a criterion of a section, line by line. */
  function levelsOf(section, criterion) {
    const name = `levels-${section}-${criterion}`;
    if (!levels.has(name)) {
      levels.set(
        name,
        file(name).then(([content]) => {
          const listed = JSON.parse(content);
          return listed.raters.map((rater, i) => ({
            rater,
            sets: listed.columns[i].sets,
            places: numbers(listed.columns[i].places),
          }));
        }),
      );
    }
    return levels.get(name);
  }

  /* Read the index: columns as arrays of numbers, names beside them. */
  function unpacked([content]) {
    const index = JSON.parse(content);
    for (const name of ["section", "system", "group", "sign", "rank", "turn", "repeat", "whole"]) index[name] = numbers(index[name]);
    for (const name of ["category", "language", "label", "answer", "persona", "words", "why"]) {
      index[name] = { names: ["", ...index[name].names], places: numbers(index[name].places) };
    }
    index.rater = { sets: index.rater.sets, places: numbers(index.rater.places) };
    const keys = atob(index.keys);
    index.keyOf = (line) => {
      let key = "";
      for (let i = line * 6; i < line * 6 + 6; i += 1) key += keys.charCodeAt(i).toString(16).padStart(2, "0");
      return key;
    };
    index.lineOf = (key) => {
      if (!/^[0-9a-f]{12}$/.test(key)) return -1;
      const wanted = key.replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16)));
      for (let at = keys.indexOf(wanted); at >= 0; at = keys.indexOf(wanted, at + 1)) if (at % 6 === 0) return at / 6;
      return -1;
    };
    return index;
  }

  /* Make an element with attributes, classes and children; texts become text. */
  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      else if (value === true) node.setAttribute(key, "");
      else if (value !== false && value !== null && value !== undefined && (value !== "" || key === "value")) node.setAttribute(key, String(value));
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  }

  /* Make a picture of nested lists: a name, attributes, and children. */
  function drawing([name, attributes, ...children]) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children.map((child) => (typeof child === "string" ? child : drawing(child))));
    return node;
  }

  function key(system) {
    return drawing(["svg", { class: `key m${system.colour}`, viewBox: "-1.4 -1.4 2.8 2.8", "aria-hidden": "true" }, ["path", { d: system.shape }]]);
  }

  const raised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  /* Look a name of a run up: it may be `constructor`. */
  const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);
  const inWords = (name) => name.replaceAll("_", " ");
  const counted = (n) => n.toLocaleString("en");

  return { load, shard, shardOf, levelsOf, index: () => started.index.then(unpacked), element, drawing, key, own, inWords, raised, counted };
})();
