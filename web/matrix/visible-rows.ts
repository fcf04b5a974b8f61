/**
 * What of a scrolled box is in sight: looked at now, and again whenever it is scrolled or changes its size.
 */
export function watchSight(element: HTMLElement, look: () => void): () => void {
  look()
  element.addEventListener('scroll', look, { passive: true })
  const sized = new ResizeObserver(look)
  sized.observe(element)
  return () => {
    element.removeEventListener('scroll', look)
    sized.disconnect()
  }
}
