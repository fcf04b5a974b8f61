// Runs in the page and returns all accessibility violations as sentences.
function violations() {
  const found = []
  const shown = element => element.checkVisibility({ visibilityProperty: true })
  const hidden = element => element.closest('[aria-hidden=true]') !== null
  const report = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 140)}`)

  const textOf = element =>
    [...element.childNodes]
      .map(node => {
        if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? ''
        if (!(node instanceof Element) || node.getAttribute('aria-hidden') === 'true') return ''
        return node.getAttribute('aria-label') ?? textOf(node)
      })
      .join(' ')
  const nameOf = element => {
    const by = (element.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id))
    const labels = 'labels' in element ? [...(element.labels ?? [])] : []
    return [
      element.getAttribute('aria-label'),
      ...[...by, ...labels].map(label => (label ? textOf(label) : '')),
      element.matches('input, select') ? '' : textOf(element),
      element.getAttribute('title'),
    ]
      .filter(Boolean)
      .join(' ')
      .trim()
  }

  const controls = 'a[href], button, input, select, textarea, [role=tab], [role=option], [tabindex="0"]'
  for (const element of document.querySelectorAll(controls)) {
    if (!shown(element) || hidden(element)) continue
    if (nameOf(element) === '') report('a control without a name', element)
  }
  // What people see must be part of what they say to a voice control.
  for (const element of document.querySelectorAll(':is(a[href], button)[aria-label]')) {
    const name = element.getAttribute('aria-label').toLowerCase()
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const text = node.textContent.trim().toLowerCase()
      if (text && !text.includes('…') && shown(node.parentElement) && !name.includes(text))
        report(`the text "${text}" is not part of the name "${name}"`, element)
    }
  }
  for (const element of document.querySelectorAll('[role=img] :is(a[href], button, [tabindex])'))
    report('a control inside an image', element)
  for (const element of document.querySelectorAll('[role=img], [role=group], nav, aside, [role=dialog], fieldset'))
    if (shown(element) && !hidden(element) && !element.matches('[aria-label], [aria-labelledby]'))
      report('a region without a name', element)
  for (const element of document.querySelectorAll('svg:not([role])'))
    if (!hidden(element) && !element.parentElement?.closest('svg'))
      report('a picture without name that is not hidden', element)
  for (const element of document.querySelectorAll('[aria-hidden=true] :is(a[href], button, input)'))
    if (shown(element) && element.getAttribute('tabindex') !== '-1')
      report('a control that is hidden from screen readers', element)

  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
    found.push(`two elements have the id ${id}`)
  for (const attribute of ['aria-controls', 'aria-activedescendant', 'aria-describedby', 'for'])
    for (const element of document.querySelectorAll(`[${attribute}]`))
      if (!document.getElementById(element.getAttribute(attribute) ?? ''))
        report(`${attribute} points to a missing element`, element)

  const headings = [...document.querySelectorAll('h1, h2, h3, h4')].filter(shown)
  const levels = headings.map(({ tagName }) => Number(tagName.slice(1)))
  if (levels.filter(level => level === 1).length !== 1)
    found.push(`${levels.filter(l => l === 1).length} main headings`)
  levels.forEach((level, index) => {
    if (level > (levels[index - 1] ?? 0) + 1) report('a heading that skips a level', headings[index])
  })
  if (document.querySelectorAll('main').length !== 1) found.push('not exactly one main element')
  if (!document.documentElement.lang) found.push('no language')
  if (!document.title) found.push('no title')
  for (const table of document.querySelectorAll('table'))
    if (table.querySelectorAll('th').length === 0) report('a table without headings', table)

  // Contrast of the text with its background.
  const parse = text => {
    const numbers = text.match(/[\d.]+/g)?.map(Number) ?? []
    const [r = 0, g = 0, b = 0, a = 1] = text.startsWith('color(srgb')
      ? [...numbers.slice(0, 3).map(part => part * 255), numbers[3] ?? 1]
      : numbers
    return [r, g, b, a]
  }
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1]
  const backgroundOf = element => {
    if (!element) return [255, 255, 255, 1]
    const own = parse(getComputedStyle(element).backgroundColor)
    return own[3] >= 1 ? own : over(own, backgroundOf(element.parentElement))
  }
  const luminance = ([r, g, b]) => {
    const [x = 0, y = 0, z = 0] = [r, g, b]
      .map(part => part / 255)
      .map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * x + 0.7152 * y + 0.0722 * z
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const lowContrast = new Set()
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    // Text in pictures is drawn on shapes, not on boxes; another test checks the colours of the tokens.
    if (
      !element ||
      !node.textContent?.trim() ||
      !shown(element) ||
      element.closest('svg, .sr, noscript, :disabled, option')
    )
      continue
    const style = getComputedStyle(element)
    const background = backgroundOf(element)
    const [one, other] = [luminance(over(parse(style.color), background)), luminance(background)]
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    const size = Number.parseFloat(style.fontSize)
    const minimum = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5
    if (ratio < minimum)
      lowContrast.add(`${ratio.toFixed(2)} to 1: "${node.textContent.trim().slice(0, 40)}" in ${element.className}`)
  }
  return [...found, ...[...lowContrast].map(text => `too little contrast, ${text}`)]
}
violations()
