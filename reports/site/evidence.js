// Copies the replay command, opens what a link leads to, and brings the violation into view. The page is whole without it.
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

  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target && target.parentElement; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    if (target) target.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  const board = document.querySelector(".over");
  const first = board && board.querySelector(".column rect");
  if (first) board.scrollLeft = Math.max(0, first.x.baseVal.value - board.clientWidth / 2);
})();
