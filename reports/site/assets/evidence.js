// Copies the replay command, brings the violation into view, and opens the part that a link leads to. The page is whole without it.
(() => {
  "use strict";
  for (const box of document.querySelectorAll(".copy")) {
    const button = box.querySelector("button");
    const text = box.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      const range = document.createRange();
      range.selectNodeContents(text);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected: copy it";
      }
    });
  }

  const open = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();

  const board = document.querySelector(".over");
  const first = board && board.querySelector(".column rect");
  if (first) board.scrollLeft = Math.max(0, first.x.baseVal.value - board.clientWidth / 2);
})();
