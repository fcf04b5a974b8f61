import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

type Theme = 'light' | 'dark'
const themes: readonly Theme[] = ['light', 'dark']

const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8').split('@media')[0] ?? ''
const hex = '(#[0-9a-f]{6})'
const tokens = new Map<string, Record<Theme, string>>()
for (const [, name = '', light = '', dark = ''] of css.matchAll(
  RegExp(`--([a-z0-9-]+): light-dark\\(${hex}, ${hex}\\)`, 'g'),
))
  tokens.set(name, { light, dark })
for (const [, name = '', both = ''] of css.matchAll(RegExp(`--([a-z0-9-]+): ${hex};`, 'g')))
  tokens.set(name, { light: both, dark: both })

function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map(at => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: string, other: string, theme: Theme): number {
  const [a, b] = [one, other].map(name => luminance(tokens.get(name)?.[theme] ?? assert.fail(`there is no --${name}`)))
  return (Math.max(a ?? 0, b ?? 0) + 0.05) / (Math.min(a ?? 0, b ?? 0) + 0.05)
}

const surfaces = ['bg', 'surface', 'surface-2', 'surface-3']

/** Text colors, and the backgrounds they are used on. */
const texts: Record<string, string[]> = {
  text: [...surfaces, 'accent-soft', 'ok-soft', 'bad-soft', 'warn-soft', 'idle-soft'],
  'text-2': [...surfaces, 'accent-soft', 'ok-soft', 'bad-soft', 'warn-soft', 'idle-soft'],
  'text-3': ['bg', 'surface', 'surface-2', 'surface-3', 'accent-soft'],
  accent: ['bg', 'surface', 'surface-2', 'accent-soft'],
  ok: ['bg', 'surface', 'surface-2', 'ok-soft'],
  bad: ['bg', 'surface', 'surface-2', 'surface-3', 'bad-soft'],
  warn: ['bg', 'surface', 'surface-2', 'warn-soft'],
  'on-accent': ['accent-fill'],
  'on-warn': ['warn-solid'],
}

/** Colors of the shapes of a state, on a panel. */
const shapes = ['accent', 'ok-solid', 'bad-solid', 'warn-solid', 'idle']

test('every text color has enough contrast on its backgrounds, in both themes', () => {
  const tooLow = themes.flatMap(theme =>
    Object.entries(texts).flatMap(([text, backgrounds]) =>
      backgrounds
        .map(background => ({ text, background, theme, ratio: contrast(text, background, theme) }))
        .filter(({ ratio }) => ratio < 4.5),
    ),
  )
  assert.deepEqual(tooLow, [])
})

test('every shape of a state has enough contrast on a panel, in both themes', () => {
  const tooLow = themes.flatMap(theme =>
    shapes.map(shape => ({ shape, theme, ratio: contrast(shape, 'surface', theme) })).filter(({ ratio }) => ratio < 3),
  )
  assert.deepEqual(tooLow, [])
})

test('the contrast ratio follows the WCAG formula', () => {
  tokens.set('black', { light: '#000000', dark: '#000000' })
  tokens.set('white', { light: '#ffffff', dark: '#ffffff' })
  assert.equal(contrast('black', 'white', 'light'), 21)
  assert.equal(contrast('white', 'white', 'dark'), 1)
})
