/** Every surface of the program has an entry in the list of surfaces, and the checker compares what the list says. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nicSurfaces } from '../chaos/claims.ts'
import { fleetSurfaces } from '../chaos/fleet-surfaces.ts'
import { nodeSurfaces } from '../chaos/node-claims.ts'
import { type Entry, surfaces } from './surfaces.ts'
import { type SurfaceKind, surfacesOfCode } from './surfaces-of-code.ts'

for (const [kind, names] of Object.entries(surfacesOfCode()))
  test(`each of the ${kind} has an entry in test/repo/surfaces.ts, and each entry exists`, () => {
    assert.ok(names.length > 4, `${names}`)
    assert.deepEqual(Object.keys(surfaces[kind as SurfaceKind]).sort(), [...new Set(names)].sort())
  })

test('the checker compares each surface of the list, and each that it compares is in the list', () => {
  const entries = Object.values(surfaces).flatMap(ofKind => Object.values<Entry>(ofKind))
  const named = new Set(entries.flatMap(entry => ('because' in entry ? [] : [...entry])))
  // The others are compared with it.
  const compared = [...nicSurfaces, ...nodeSurfaces, ...fleetSurfaces].filter(name => name !== 'the CR')
  assert.deepEqual([...named].sort(), compared.sort())
})

test('an entry compares something or says why not', () => {
  for (const [kind, ofKind] of Object.entries(surfaces))
    for (const [name, entry] of Object.entries<Entry>(ofKind))
      assert.ok('because' in entry ? entry.because.length > 3 : entry.length > 0, `${kind} ${name}`)
})
