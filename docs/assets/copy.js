// The copy button takes what was typed, without Python's prompts and answers.
document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest?.("[data-clipboard-target]")
    const code = button && document.querySelector(button.dataset.clipboardTarget)
    if (!code?.querySelector(".gp")) return
    const typed = code.cloneNode(true)
    typed.querySelectorAll(".gp, .go, .gt, .gr").forEach((part) => part.remove())
    const lines = typed.textContent.split("\n").filter((line) => line.trim())
    button.dataset.clipboardText = `${lines.join("\n")}\n`
  },
  true,
)
