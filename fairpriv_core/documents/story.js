const steps = [...document.querySelectorAll(".step")]
const find = (id) => document.getElementById(id)
let at = 0, lit = 0 // the step; in the curve how many lines were lit, 0 for all

const linesOf = (step) => {
  const lines = step.querySelectorAll("g.line").length
  return lines > 1 ? lines : 0 // one alone is lit
}

const show = () => {
  steps.forEach((step, index) => {
    step.hidden = index !== at
    const one = linesOf(step) > 0 && index === at && lit > 0
    step.classList.toggle("all", !one)
    step.querySelectorAll("g.line").forEach((line, number) => line.classList.toggle("on", one && number === lit - 1))
    step.querySelectorAll("li.line").forEach((line, number) => line.classList.toggle("on", one && number === lit - 1))
  })
  find("place").textContent = `${at + 1} of ${steps.length}`
  find("back").disabled = at === 0
  find("on").disabled = at === steps.length - 1
}
const move = (by) => {
  const lines = linesOf(steps[at])
  if (by > 0 && lit < lines) lit += 1
  else if (by < 0 && lit > 0) lit -= 1
  else if (steps[at + by]) {
    at += by
    lit = 0
  }
  show()
}
const tell = () => {
  const noted = find("notes").getAttribute("aria-pressed") !== "true"
  find("notes").setAttribute("aria-pressed", noted)
  for (const step of steps) {
    step.classList.toggle("noted", noted)
    step.querySelector(".notes").hidden = !noted
  }
}
const fill = () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen())
const keys = { ArrowRight: () => move(1), PageDown: () => move(1), ArrowLeft: () => move(-1), PageUp: () => move(-1), n: tell, f: fill }

document.addEventListener("keydown", (event) => {
  const act = keys[event.key] || keys[event.key.toLowerCase()]
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target.type === "range" && event.key.startsWith("Arrow")) return
  event.preventDefault()
  act()
})
find("on").addEventListener("click", () => move(1))
find("back").addEventListener("click", () => move(-1))
find("notes").addEventListener("click", tell)
find("full").addEventListener("click", fill)
find("full").hidden = !document.fullscreenEnabled

const slider = find("slider")
slider?.addEventListener("input", () => {
  const epsilon = 10 ** Number(slider.value)
  const sure = Math.ceil(100 / (1 + Math.exp(-epsilon)))
  find("epsilon").textContent = epsilon.toPrecision(3)
  find("sure").textContent = sure
  find("odds").setAttribute("aria-label", `${sure} of 100 dots`)
  find("odds").querySelectorAll("circle").forEach((dot, index) => {
    dot.setAttribute("class", index < 50 ? "even" : index < sure ? "lit" : "rest")
  })
})
show()

// Within a page the keys come here at once, unless a person is writing or choosing there.
if (parent !== window && !parent.document.activeElement?.matches("input, textarea, select")) window.focus()
