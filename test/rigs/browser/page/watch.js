// Runs before anything else in the page: notes what code of a text would do, also if it is gone at once.
globalThis.ran = []
globalThis.violations = []
globalThis.added = []
addEventListener('securitypolicyviolation', event => violations.push(`${event.violatedDirective} ${event.blockedURI}`))
new MutationObserver(changes => {
  const elements = changes
    .flatMap(({ addedNodes }) => [...addedNodes])
    .flatMap(node => (node instanceof Element ? [node, ...node.querySelectorAll('*')] : []))
  for (const element of elements)
    if (element.matches('img, iframe, object, embed, base, script:not([src^="/assets/"])'))
      added.push(element.outerHTML)
}).observe(document, { childList: true, subtree: true })
