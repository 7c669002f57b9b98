// Draws a Plotly figure and redraws it in place when it changes, so that a person's zoom, hover and drag stay.
// A drawing that is out of sight is redrawn when it comes into sight, or a little later.
// Where the page asks for it, a click on a point reports the key that the point carries.

const NEAR = "300px" // so far outside the window a drawing counts as in sight
const LATER = 3000 // milliseconds until one out of sight is redrawn

const load = (address) => {
  if (window.Plotly) return Promise.resolve(window.Plotly)
  window.fairprivPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = address
    script.onload = () => resolve(window.Plotly)
    script.onerror = () => reject(new Error("The drawing library could not be loaded; reload the page."))
    document.head.appendChild(script)
  })
  return window.fairprivPlotly
}

const makeHost = (parent) => {
  const host = document.createElement("div")
  host.className = "fairpriv-plot"
  host.setAttribute("role", "figure")
  host.tabIndex = 0
  parent.appendChild(host)
  return host
}

const draw = (plotly, host) => {
  if (!host.isConnected || host.wanted === undefined) return
  if (host._dragging) return setTimeout(() => draw(plotly, host), 150)
  if (host._fullLayout && host.outOfSight && !host.due) {
    host.later ??= setTimeout(() => {
      host.due = true
      draw(plotly, host)
    }, LATER)
    return
  }
  clearTimeout(host.later)
  host.due = host.later = undefined
  const { figure, config } = host.wanted
  host.wanted = undefined
  const layout = { ...figure.layout, width: host.clientWidth || undefined, autosize: false }
  plotly.react(host, figure.data, layout, config).then(() => listen(host))
}

const listen = (host) => {
  if (host.listens || !host.on) return
  host.listens = true
  host.on("plotly_click", ({ points }) => {
    const key = points[0]?.customdata
    if (host.pick && typeof key === "string") host.pick(key)
  })
}

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".fairpriv-plot") ?? makeHost(parentElement)
  host.setAttribute("aria-label", data.alt)
  host.style.height = `${data.figure.layout.height}px`
  host.pick = data.pick ? (key) => setTriggerValue("picked", key) : undefined
  host.wanted = { figure: data.figure, config: data.config }
  load(data.plotly).then((plotly) => {
    draw(plotly, host)
    if (host.watcher) return
    host.watcher = new ResizeObserver(() => {
      const width = host.clientWidth
      if (width && host._fullLayout && Math.abs(width - host._fullLayout.width) > 1) plotly.relayout(host, { width })
    })
    host.watcher.observe(host)
    host.sight = new IntersectionObserver(([{ isIntersecting }]) => {
      host.outOfSight = !isIntersecting
      draw(plotly, host)
    }, { rootMargin: NEAR })
    host.sight.observe(host)
  })
  return () => {
    host.watcher?.disconnect()
    host.sight?.disconnect()
    host.listens = false
    window.Plotly?.purge(host)
  }
}
