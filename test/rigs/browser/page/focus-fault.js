// Runs in the page. Answers with what has the focus and does not show it.
function focusFault() {
  const element = document.activeElement
  if (!(element instanceof HTMLElement || element instanceof SVGElement) || element === document.body) return undefined
  const shows = one => {
    if (!one) return false
    const { outlineStyle, outlineWidth, boxShadow, borderBottomColor } = getComputedStyle(one)
    const lined =
      one.matches('.palette-input') && borderBottomColor !== getComputedStyle(document.body).borderBottomColor
    return (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0) || boxShadow !== 'none' || lined
  }
  const holder = element.closest('.field, .query, .palette-input, .handles')
  return shows(element) || shows(holder) || element.matches('[type=range]')
    ? undefined
    : element.outerHTML.slice(0, 120)
}
focusFault()
