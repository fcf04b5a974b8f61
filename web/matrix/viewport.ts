/**
 * Observes which part of a scrolling element is visible.
 */

/** Calls back now, and whenever the element scrolls or changes its size. */
export function observeViewport(element: HTMLElement, onChange: () => void): () => void {
  onChange()
  element.addEventListener('scroll', onChange, { passive: true })
  const observer = new ResizeObserver(onChange)
  observer.observe(element)
  return () => {
    element.removeEventListener('scroll', onChange)
    observer.disconnect()
  }
}
