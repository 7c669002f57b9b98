const drawOne = async (place) => {
  const figure = JSON.parse(place.nextElementSibling.textContent)
  const layout = { ...figure.layout, width: place.clientWidth || ROOM, autosize: false }
  await Plotly.newPlot(place, figure.data, layout, CONFIG)
  new ResizeObserver(() => {
    const width = place.clientWidth
    if (width && Math.abs(width - place._fullLayout.width) > 1) Plotly.relayout(place, { width })
  }).observe(place)
}
window.addEventListener("beforeprint", () => {
  for (const more of document.querySelectorAll(".more")) more.open = true
})
Promise.all([...document.querySelectorAll(".plot")].map(drawOne)).then(() => {
  document.documentElement.dataset.drawn = "yes"
})
