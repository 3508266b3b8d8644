/* Search in messages and replies: file by file, those of the first lines first, so that hits show while the rest is read. */
"use strict";

Mindgauge.search = (() => {
  const PAUSE = 150; // milliseconds between two looks at the list
  let running = 0;

  /* Find a text in some lines, in their order; `show` is called with the hits so far and the share that is read. */
  async function find(index, query, lines, show) {
    const own = (running += 1);
    const wanted = query.toLowerCase();
    const hits = new Uint8Array(index.lines);
    const inWords = index.words.names.map((text) => text.toLowerCase().includes(wanted));
    const asked = new Uint8Array(index.lines);
    const numbers = new Set();
    for (const line of lines) {
      asked[line] = 1;
      if (inWords[index.words.places[line]]) hits[line] = 1;
      numbers.add(Mindgauge.shardOf(index, line));
    }
    let read = 0;
    let shown = performance.now();
    show(hits, 0);
    for (const number of numbers) {
      const { texts } = await Mindgauge.shard(number);
      if (own !== running) return;
      look(index, texts, number, wanted, asked, hits);
      read += 1;
      if (performance.now() - shown > PAUSE) {
        show(hits, read / numbers.size);
        await new Promise((resolve) => setTimeout(resolve)); // who types or scrolls goes first
        if (own !== running) return;
        shown = performance.now();
      }
    }
    show(hits, 1);
  }

  function look(index, texts, number, wanted, asked, hits) {
    const first = index.shards[number];
    const length = texts.subjects.length;
    const has = (text) => text !== null && text.toLowerCase().includes(wanted);
    texts.groups.forEach((group, place) => {
      const end = texts.groups[place + 1]?.first ?? length;
      const dialogue = group.dialogue;
      const all = !dialogue && group.messages.some(([, text]) => has(text));
      for (let i = group.first; i < end; i += 1) {
        if (asked[first + i] && (all || has(texts.replies[i]) || texts.histories[i]?.some(([, text]) => has(text)))) hits[first + i] = 1;
        if (asked[first + i] && dialogue && Mindgauge.addressed(group, texts, i).some(([, text]) => has(text))) hits[first + i] = 1;
      }
    });
  }

  function stop() {
    running += 1;
  }

  return { find, stop };
})();
