"use strict";
// The plan follows the slider; a page that waits looks again until its work has ended.
const slider = document.querySelector("[data-plan]");
if (slider) {
  const number = document.getElementById(slider.dataset.number);
  const plan = document.getElementById("plan");
  let asked = null;
  let later = 0;
  const draw = async () => {
    if (asked) asked.abort();
    asked = new AbortController();
    try {
      const address = `${slider.dataset.plan}?epsilon=${encodeURIComponent(number.value)}`;
      const answer = await fetch(address, { signal: asked.signal });
      if (answer.ok) plan.innerHTML = await answer.text();
    } catch (error) {
      if (error.name !== "AbortError") plan.textContent = "The window was stopped.";
    }
  };
  const soon = () => {
    clearTimeout(later);
    later = setTimeout(draw, 150);
  };
  slider.addEventListener("input", () => {
    number.value = slider.value;
    soon();
  });
  number.addEventListener("input", () => {
    slider.value = number.value;
    soon();
  });
  // Browsers fill in again what was there before somebody left the page.
  window.addEventListener("pageshow", () => {
    if (number.value !== number.defaultValue) soon();
  });
}

const progress = document.getElementById("progress");
if (progress) {
  const look = async () => {
    try {
      const answer = await fetch(`progress?of=${encodeURIComponent(progress.dataset.of)}`);
      if (answer.status === 204) {
        location.reload();
        return;
      }
      if (answer.ok) progress.innerHTML = await answer.text();
      setTimeout(look, 1000);
    } catch {
      progress.textContent = "The window was stopped. What was charged is kept in the ledger.";
    }
  };
  setTimeout(look, 400);
}
