// Draws a Plotly figure and redraws it in place when it changes, so that a person's hover and drag stay; a zoom stays
// where the page draws anew, too.
// A drawing that is out of sight is redrawn when it comes into sight, or a little later.
// Where the page asks for it, a click on a point reports the key that the point carries, and a region's edges can be
// dragged, which reports where they are. Charts of one page show the same point under the pointer.

const NEAR = "300px" // so far outside the window a drawing counts as in sight
const EASE = 4 // pixels of empty room around a name's letters
const ROW = 17 // pixels from one name to the next
const ABOVE = 10 // and from a line that goes on to its name
const BESIDE = 22 // and to the side
const LETTER = 6.5 // how wide a letter is
const NARROW = 500 // pixels: a phone's drawing
const LATER = 3000 // milliseconds until one out of sight is redrawn

// Names are measured in the page's typeface, which has to be there first.
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
  if (host._fullLayout && host.outOfSight && !host.due) {
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
  const annotations = placeNames(host) // by what is drawn, where a person may have zoomed
  const axes = Object.entries(figure.layout).filter(([name]) => /^[xy]axis/.test(name))
  host.whole = Object.fromEntries(axes.map(([name, axis]) => [name, `${axis.range}`]))
  const own = host.clientWidth < NARROW ? abbreviate(figure.layout) : figure.layout
  const font = { family: family(host) }
  // Plotly writes a person's zoom into what it is given, and forgets it where it is given that once more: a copy each time
  const { data, layout } = structuredClone({ data: figure.data, layout: { ...own, annotations } })
  const size = { width: host.clientWidth || undefined, autosize: false }
  const drawn = plotly.react(host, data, { ...layout, ...size, font }, config).then(() => {
    listen(host)
    return restoreZoom(host).then(() => fitNames(host))
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

// Where a person has zoomed in on a part, a line's name stands where the line leaves it.
const placeNames = (host) => {
  const notes = host.figure.layout.annotations ?? []
  const moved = notes.map((note) => (note.name === "line" && host._fullLayout ? follow(host, note) : note))
  const lowest = {}
  for (const note of moved.filter((each, place) => each !== notes[place]).sort((one, other) => other.at - one.at)) {
    const wanted = Math.min(note.at - ABOVE, (lowest[note.yref] ?? Infinity) - ROW)
    note.ay = wanted - note.at
    lowest[note.yref] = wanted
    delete note.at
  }
  return moved
}

// Returns the note at the last point of its line that is seen, with `at`, its pixels from above; itself where its own is.
const follow = (host, note) => {
  const [across, up] = [note.xref, note.yref].map((name) => host._fullLayout[name.replace(/^[xy]/, "$&axis")])
  if (!across || !up) return note // a panel that was not there before
  if (isWhole(host, across) && isWhole(host, up)) return note // it moves with its line's end, where the axis makes room for it
  const holds = (axis, value) => value >= Math.min(...axis.range) && value <= Math.max(...axis.range)
  const room = across._length - across.l2p(note.x) - BESIDE
  if (holds(across, note.x) && holds(up, note.y) && (isWhole(host, across) || room > LETTER * note.text.length)) return note
  const isHere = ({ x, y, xaxis = "x", yaxis = "y" }) => x && y && xaxis === note.xref && yaxis === note.yref
  const drawn = host.figure.data.filter(isHere)
  const lines = drawn.map(({ x, y }) =>
    [...x].map((value, place) => [across.d2l(value), up.d2l(y[place])]).filter((point) => point.every(Number.isFinite))
  )
  const line = lines.find((points) => {
    const [x, y] = points.at(-1) ?? []
    return Math.abs(x - note.x) < 1e-9 * Math.abs(note.x) + 1e-12 && y === note.y
  })
  if (!line) return note
  const edge = Math.max(...across.range)
  const next = line.findIndex(([x]) => x > edge)
  const seen = next < 0 ? line : line.slice(0, next)
  if (next > 0) {
    const [[x0, y0], [x1, y1]] = [line[next - 1], line[next]]
    seen.push([edge, y0 + ((edge - x0) / (x1 - x0)) * (y1 - y0)])
  }
  const last = seen.findLast(([x, y]) => holds(across, x) && holds(up, y))
  if (!last) return note
  const isLeft = across.l2p(last[0]) > across._length / 2 // of the end: where there is more room
  const side = isLeft ? { ax: -BESIDE, xanchor: "right" } : { ax: BESIDE, xanchor: "left" }
  return { ...note, ...side, x: last[0], y: last[1], at: up.l2p(last[1]) }
}

// On a narrow screen a point's name may run out of the panel, over the axis: then it stands on the point's other side.
const turn = (host, note) => {
  const across = host._fullLayout[`${note.xref}`.replace(/^x/, "xaxis")]
  if (!note.showarrow || note.name === "line" || !across?.l2p) return note
  const wide = LETTER * note.text.replace(/<[^>]*>/g, "").length
  const fits = (ax, side) => {
    const from = across.l2p(note.x) + ax
    return side === "right" ? from >= wide : from + wide <= across._length
  }
  const other = note.xanchor === "right" ? "left" : "right"
  return fits(note.ax, note.xanchor) || !fits(-note.ax, other) ? note : { ...note, ax: -note.ax, xanchor: other }
}

const fitNames = (host) => {
  if (!host._fullLayout) return // the drawing was taken away meanwhile
  const notes = host.layout.annotations ?? []
  const turned = notes.map((note) => turn(host, note))
  const isTurned = turned.some((note, place) => note !== notes[place])
  const done = isTurned ? window.Plotly.relayout(host, { annotations: turned }) : Promise.resolve()
  return done.then(() => unclutter(host))
}

// On a narrow screen names that are clear of each other elsewhere may meet: then the later one gives way.
const unclutter = (host) => {
  const kept = []
  for (const note of host.querySelectorAll(".annotation")) {
    note.style.visibility = ""
    const box = note.querySelector(".annotation-text-g").getBoundingClientRect()
    const meets = (other) =>
      box.left < other.right && other.left < box.right && box.top + EASE < other.bottom && other.top + EASE < box.bottom
    if (kept.some(meets)) note.style.visibility = "hidden"
    else kept.push(box)
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
    if (zoomed.length)
      unlessGone(host, window.Plotly.relayout(host, { annotations: placeNames(host) }).then(() => unclutter(host)))
    const moved = Object.keys(change).map((name) => /^shapes\[(\d+)\]\.[xy][01]$/.exec(name)).find(Boolean)
    if (!moved || !host.drag) return
    const edge = host.layout.shapes[Number(moved[1])]
    if (!edge.name) return
    const [, region, axis, end] = edge.name.split(" ")
    host.drag({ region: Number(region), axis, end: Number(end), value: (edge[`${axis}0`] + edge[`${axis}1`]) / 2 })
  })
}

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".fairpriv-plot") ?? makeHost(parentElement)
  host.key = data.key
  host.setAttribute("aria-label", data.alt)
  host.style.height = `${data.figure.layout.height}px`
  host.pick = data.pick ? (key) => setTriggerValue("picked", key) : undefined
  host.drag = data.drag ? (place) => setTriggerValue("dragged", place) : undefined
  host.wanted = { figure: data.figure, config: data.config }
  prepare(data.plotly, host).then((plotly) => {
    draw(plotly, host)
    if (host.watcher) return
    host.watcher = new ResizeObserver(() => {
      const width = host.clientWidth
      if (width && host._fullLayout && Math.abs(width - host._fullLayout.width) > 1)
        unlessGone(host, plotly.relayout(host, { width }).then(() => fitNames(host)))
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
