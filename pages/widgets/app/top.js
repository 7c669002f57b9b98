function makeOneStep() {
  const push = history.pushState.bind(history)
  let untouched = true, chose = false // since the last press: whether a page is new, and whether a choice made a step
  for (const kind of ["pointerdown", "keydown"])
    addEventListener(kind, () => { untouched = chose = false }, { capture: true, passive: true })
  history.pushState = (state, title, url) => {
    const isAnother = new URL(url, location.href).pathname !== location.pathname
    // a page that comes may write its choices while the address is still that of the one before: one press, one step
    if (isAnother ? chose : untouched) history.replaceState(state, title, url)
    else push(state, title, url)
    chose = !isAnother && !untouched
    untouched ||= isAnother
  }
}

function sayWhenStyled(setStateValue) {
  const style = getComputedStyle(document.querySelector("[data-testid=stApp]"))
  if (style.getPropertyValue("--fairpriv-styled")) setStateValue("styled", true)
  else requestAnimationFrame(() => sayWhenStyled(setStateValue))
}

export default function ({ data, setStateValue }) {
  if (!data.styled) sayWhenStyled(setStateValue)
  if (window.fairprivPage === undefined) makeOneStep()
  const isAnother = window.fairprivPage !== undefined && window.fairprivPage !== data.page
  window.fairprivPage = data.page
  if (isAnother) document.querySelector("[data-testid=stMain]").scrollTo(0, 0)
}
