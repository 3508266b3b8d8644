// A comment that is typed stays in this browser until it stands on the page, whatever happens in between.
"use strict";

const say = document.querySelector("form.say");
if (say) {
  const text = say.elements.text;
  const key = `mindgauge:comment:${say.dataset.item}`;
  const kept = sessionStorage.getItem(key) ?? "";
  const sent = [...document.querySelectorAll(".comments .words")].some((words) => words.textContent === kept.trim());
  if (sent) sessionStorage.removeItem(key);
  else text.value ||= kept;
  text.addEventListener("input", () => sessionStorage.setItem(key, text.value));
}
