/* Text as a person saw it: a safe subset of Markdown, built node by node; and marks over it, across its parts. */
"use strict";

Mindgauge.markdown = (() => {
  const { element } = Mindgauge;
  const parser = markdownit({ html: false, breaks: true, linkify: false });
  const BLOCKS = {
    paragraph: "p", blockquote: "blockquote", bullet_list: "ul", ordered_list: "ol", list_item: "li", thead: "thead", tbody: "tbody", tr: "tr", th: "th", td: "td",
  };
  const SPANS = { strong: "strong", em: "em", s: "s" };
  const MOST_HITS = 500;

  /* Return the nodes of a Markdown text. A link is its text and its address, a picture its description; HTML is text. */
  function nodes(text) {
    const root = document.createDocumentFragment();
    const open = [root];
    for (const token of parser.parse(text, {})) block(token, open);
    return root;
  }

  function block(token, open) {
    const top = open.at(-1);
    if (token.type === "inline") return inline(token.children, top);
    if (token.type === "fence" || token.type === "code_block") return top.append(element("pre", {}, element("code", {}, token.content)));
    if (token.type === "hr") return top.append(element("hr"));
    if (token.nesting === -1) return open.length > 1 && open.pop();
    const name = token.type.replace(/_open$/, "");
    if (token.nesting !== 1) return top.append(token.content);
    if (token.hidden) return open.push(top); // a paragraph of a tight list
    if (name === "heading") return open.push(added(top, element("p", { class: `heading h${token.tag.slice(1)}` })));
    if (name === "table") {
      const table = element("table");
      top.append(element("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": "A table of the reply" }, table));
      return open.push(table);
    }
    const start = name === "ordered_list" ? token.attrGet("start") : null;
    return open.push(added(top, element(BLOCKS[name] ?? "div", { start })));
  }

  function inline(tokens, parent) {
    const open = [parent];
    const links = [];
    for (const token of tokens) {
      const top = open.at(-1);
      const name = token.type.replace(/_(open|close)$/, "");
      if (name === "link") {
        if (token.nesting === 1) {
          links.push(token.attrGet("href") ?? "");
          open.push(added(top, element("span", { class: "link" })));
        } else if (open.length > 1) {
          const address = links.pop();
          const shown = open.pop();
          if (address && shown.textContent !== address) top.parentNode.append(element("span", { class: "aside" }, ` (${address})`));
        }
      } else if (name in SPANS) {
        if (token.nesting === 1) open.push(added(top, element(SPANS[name])));
        else if (open.length > 1) open.pop();
      } else if (name === "code_inline") top.append(element("code", {}, token.content));
      else if (name === "softbreak" || name === "hardbreak") top.append(element("br"));
      else if (name === "image") top.append(element("span", { class: "aside" }, `[picture: ${token.content || "not described"}]`));
      else top.append(token.content);
    }
  }

  function added(parent, node) {
    parent.append(node);
    return node;
  }

  /* Reduce a text to letters and digits in one case and width, as quotes are looked for; `at` says where each one stood. */
  function folded(text, each) {
    let plain = "";
    for (let i = 0; i < text.length; ) {
      const code = text.codePointAt(i);
      const size = code > 0xffff ? 2 : 1;
      if (code < 128) {
        const letter = text[i].toLowerCase();
        if (/[a-z0-9]/.test(letter)) {
          plain += letter;
          each?.(i);
        }
      } else {
        for (const letter of text.slice(i, i + size).normalize("NFKC").toLowerCase()) {
          if (/[\p{L}\p{N}]/u.test(letter)) {
            plain += letter;
            for (let k = 0; k < letter.length; k += 1) each?.(i);
          }
        }
      }
      i += size;
    }
    return plain;
  }

  /* Mark quotes, and what is searched for, in the text below a node, whatever stands between its letters. */
  function mark(root, quotes, query) {
    const runs = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) runs.push(walker.currentNode);
    const places = [];
    const plain = runs.map((node, run) => folded(node.data, (i) => places.push([run, i]))).join("");
    const spans = [];
    const find = (text, kind, most) => {
      const wanted = folded(text);
      if (!wanted) return;
      for (let at = plain.indexOf(wanted), n = 0; at >= 0 && n < most; at = plain.indexOf(wanted, at + wanted.length), n += 1) {
        spans.push([at, at + wanted.length - 1, kind]);
      }
    };
    for (const quote of new Set(quotes)) find(quote, "quote", 1);
    if (query) find(query, "hit", MOST_HITS);
    if (!spans.length) return;
    const kinds = runs.map((node) => new Uint8Array(node.data.length));
    for (const [first, last, kind] of spans) {
      const bit = kind === "quote" ? 1 : 2;
      const [startRun, start] = places[first];
      const [endRun, end] = places[last];
      for (let run = startRun; run <= endRun; run += 1) {
        kinds[run].fill(0, 0, 0);
        const from = run === startRun ? start : 0;
        const to = run === endRun ? end + 1 : kinds[run].length;
        for (let i = from; i < to; i += 1) kinds[run][i] |= bit;
      }
    }
    runs.forEach((node, run) => split(node, kinds[run]));
  }

  function split(node, kinds) {
    if (!kinds.some(Boolean)) return;
    const text = node.data;
    const parts = [];
    for (let i = 1, start = 0; i <= text.length; i += 1) {
      if (i < text.length && kinds[i] === kinds[start]) continue;
      const part = text.slice(start, i);
      const kind = kinds[start];
      parts.push(kind ? element("mark", { class: kind === 2 ? "hit" : kind === 3 ? "quote hit" : "quote" }, part) : part);
      start = i;
    }
    node.replaceWith(...parts);
  }

  return { nodes, mark };
})();
