// Draws a Plotly figure and redraws it in place when it changes, so that a person's hover and drag stay; a zoom stays
// where the page draws anew, too.
// A drawing that is out of sight is drawn when it comes into sight, or a little later, and redrawn when it comes into
// sight or is printed.
// Where the page asks for it, a click on a point reports the key that the point carries, and a region's edges can be
// dragged, which reports where they are. Charts of one page show the same point under the pointer.
// Where the page says at which point each stop of a slider puts a trace, the trace follows the slider while it is moved.

const NEAR = "300px" // so far outside the window a drawing counts as in sight
const NARROW = 500 // pixels: a phone's drawing
const LATER = 3000 // milliseconds until one out of sight is drawn

// Texts are measured in the page's typeface, which has to be there first.
const family = (host) => getComputedStyle(host).fontFamily || "sans-serif" // none once it was taken away
const prepare = (address, host) =>
  Promise.all([load(address), document.fonts.load(`13px ${family(host)}`)]).then(([plotly]) => plotly)

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

// On a phone an axis has no room for "percentage points".
const abbreviate = (layout) => {
  const change = ([name, part]) => {
    const text = /^[xy]axis/.test(name) && part.title?.text?.replace("percentage points", "pp")
    return [name, text ? { ...part, title: { ...part.title, text } } : part]
  }
  return Object.fromEntries(Object.entries(layout).map(change))
}

// Plotly goes on with a drawing that was taken away meanwhile, and fails: there is nothing left to draw.
const unlessGone = (host, drawing) =>
  drawing.catch((error) => {
    if (host._fullLayout) throw error
  })

const draw = (plotly, host) => {
  if (!host.isConnected || host.wanted === undefined) return
  if (host._dragging) return setTimeout(() => draw(plotly, host), 150)
  if (host.outOfSight && !host.due) {
    if (host._fullLayout) return
    host.later ??= setTimeout(() => {
      host.due = true
      draw(plotly, host)
    }, LATER)
    return
  }
  clearTimeout(host.later)
  host.due = host.later = undefined
  const { figure } = host.wanted
  const config = { ...host.wanted.config, edits: { shapePosition: Boolean(host.drag) } }
  host.wanted = undefined
  host.figure = figure
  host.zooms = findZooms(`${location.href} ${host.key} ${figure.layout.uirevision}`)
  const axes = Object.entries(figure.layout).filter(([name]) => /^[xy]axis/.test(name))
  host.whole = Object.fromEntries(axes.map(([name, axis]) => [name, `${axis.range}`]))
  const own = host.clientWidth < NARROW ? abbreviate(figure.layout) : figure.layout
  const font = { family: family(host) }
  // Plotly writes a person's zoom into what it is given, and forgets it where it is given that once more: a copy each time
  const { data, layout } = structuredClone({ data: figure.data, layout: own })
  const size = { width: host.clientWidth || undefined, autosize: false }
  const drawn = plotly.react(host, data, { ...layout, ...size, font }, config).then(() => {
    listen(host)
    return restoreZoom(host)
  })
  unlessGone(host, drawn)
}

const isWhole = (host, axis) => axis.autorange || `${axis.range}` === host.whole[axis._name]

// The ranges of axes that a person chose, of one figure at one address: another run's, or quantity's, are others.
const findZooms = (figure) => ((window.fairprivZooms ??= {})[figure] ??= {})

// Whatever made the page, or Plotly, draw anew: where a person looks is theirs to change.
const restoreZoom = (host) => {
  const isLost = ([name, range]) => `${host._fullLayout?.[name]?.range ?? range}` !== `${range}`
  const lost = Object.entries(host.zooms).filter(isLost)
  if (!lost.length) return Promise.resolve()
  return window.Plotly.relayout(host, Object.fromEntries(lost.map(([name, range]) => [`${name}.range`, range])))
}

const keepZoom = (host, names) => {
  for (const name of names) {
    const axis = host._fullLayout[name]
    if (isWhole(host, axis)) delete host.zooms[name]
    else host.zooms[name] = [...axis.range]
  }
}

// What a point under the pointer stands for is shown in the page's other charts too.
const echo = (from, key) => {
  if (echo.key === key) return
  echo.key = key
  for (const other of document.querySelectorAll(".fairpriv-plot")) {
    if (other === from || !other.pick || !other._fullLayout || other._dragging) continue
    const found = other.data.findIndex((trace) => trace.type === "scatter" && trace.customdata?.includes(key))
    if (found < 0) {
      window.Plotly.Fx.unhover(other)
      continue
    }
    const { customdata, xaxis, yaxis } = other.data[found]
    const point = { curveNumber: found, pointNumber: customdata.indexOf(key) }
    window.Plotly.Fx.hover(other, [point], `${xaxis}${yaxis}`)
  }
}

const listen = (host) => {
  if (host.listens || !host.on) return
  host.listens = true
  host.on("plotly_click", ({ points }) => {
    const key = points[0]?.customdata
    if (host.pick && typeof key === "string") host.pick(key)
  })
  host.on("plotly_hover", ({ points }) => {
    const key = points[0]?.customdata
    if (host.pick && typeof key === "string") echo(host, key)
  })
  host.on("plotly_unhover", () => echo(host, undefined))
  host.on("plotly_relayout", (change) => {
    const zoomed = Object.keys(change).map((name) => /^([xy]axis\d*)\.(auto)?range/.exec(name)?.[1]).filter(Boolean)
    keepZoom(host, zoomed)
    const moved = Object.keys(change).map((name) => /^shapes\[(\d+)\]\.[xy][01]$/.exec(name)).find(Boolean)
    if (!moved || !host.drag) return
    const edge = host.layout.shapes[Number(moved[1])]
    if (!edge.name) return
    const [, region, axis, end] = edge.name.split(" ")
    host.drag({ region: Number(region), axis, end: Number(end), value: (edge[`${axis}0`] + edge[`${axis}1`]) / 2 })
  })
}

// Moves the trace with a slider; what the page draws once the slider rests takes its place.
const follow = (host) => {
  const move = (slider) => {
    const stops = Object.entries(host.glide?.places ?? {}).find(([key]) => slider.closest(`.st-key-${key}`))?.[1]
    const [x, xLow, xHigh, y, yLow, yHigh] = stops?.[`${Number(slider.value)}`] ?? []
    if (x === undefined) return
    const at = host.data?.findIndex(({ name }) => name === host.glide.name)
    if (!(at >= 0) || host.data[at].x[0] === x) return
    const ends = (name, value, low, high) => ({ [`${name}.array`]: [[high - value]], [`${name}.arrayminus`]: [[value - low]] })
    const moved = { x: [[x]], y: [[y]], ...ends("error_x", x, xLow, xHigh), ...ends("error_y", y, yLow, yHigh) }
    unlessGone(host, window.Plotly.restyle(host, moved, [at]))
  }
  const seen = new MutationObserver((changes) => {
    for (const { target } of changes) if (target.matches('input[type="range"]')) move(target)
  })
  seen.observe(document.body, { subtree: true, attributeFilter: ["value"] })
  return seen
}

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".fairpriv-plot") ?? makeHost(parentElement)
  host.key = data.key
  host.setAttribute("aria-label", data.alt)
  host.style.height = `${data.figure.layout.height}px`
  host.pick = data.pick ? (key) => setTriggerValue("picked", key) : undefined
  host.drag = data.drag ? (place) => setTriggerValue("dragged", place) : undefined
  host.glide = data.glide
  host.wanted = { figure: data.figure, config: data.config }
  prepare(data.plotly, host).then((plotly) => {
    if (host.watcher) return draw(plotly, host)
    host.follower = follow(host)
    host.watcher = new ResizeObserver(() => {
      const width = host.clientWidth
      if (width && host._fullLayout && Math.abs(width - host._fullLayout.width) > 1)
        unlessGone(host, plotly.relayout(host, { width }))
    })
    host.watcher.observe(host)
    host.sight = new IntersectionObserver((crossings) => {
      host.outOfSight = !crossings.at(-1).isIntersecting // several may come at once, oldest first
      draw(plotly, host)
    }, { rootMargin: NEAR })
    host.sight.observe(host)
    host.print = () => {
      host.due = host.wanted !== undefined
      draw(plotly, host)
    }
    addEventListener("beforeprint", host.print)
  })
  return () => {
    host.watcher?.disconnect()
    host.sight?.disconnect()
    host.follower?.disconnect()
    removeEventListener("beforeprint", host.print)
    host.listens = false
    window.Plotly?.purge(host)
  }
}
