// Runs in the page and returns the focused element if its focus is not visible.
function hiddenFocus() {
  const element = document.activeElement
  if (!(element instanceof HTMLElement || element instanceof SVGElement) || element === document.body) return undefined
  const showsFocus = candidate => {
    if (!candidate) return false
    const { outlineStyle, outlineWidth, boxShadow, borderBottomColor } = getComputedStyle(candidate)
    const isUnderlined =
      candidate.matches('.palette-input') && borderBottomColor !== getComputedStyle(document.body).borderBottomColor
    return (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0) || boxShadow !== 'none' || isUnderlined
  }
  const container = element.closest('.field, .query, .palette-input, .handles')
  return showsFocus(element) || showsFocus(container) || element.matches('[type=range]')
    ? undefined
    : element.outerHTML.slice(0, 120)
}
hiddenFocus()
