// Runs in the page, after watch.js: what came into the document by a text, and what the document shows as text.
function intruders() {
  const ownLinks = '[href^="#/"], [href="#main"], [href="/docs"], [href^="#i-"]'
  const foreign = [...document.querySelectorAll('*')].filter(
    element =>
      (element.matches('a, use') && !element.matches(ownLinks)) ||
      [...element.attributes].some(({ name }) => name.startsWith('on') || name === 'srcdoc'),
  )
  const attributes = [...document.querySelectorAll('[title], [aria-label]')].flatMap(element => [
    element.getAttribute('title') ?? '',
    element.getAttribute('aria-label') ?? '',
  ])
  return {
    foreign: [...added, ...foreign.map(({ outerHTML }) => outerHTML)],
    ran,
    violations,
    shown: [document.title, document.body.textContent, ...attributes].join('\n'),
  }
}
intruders()
