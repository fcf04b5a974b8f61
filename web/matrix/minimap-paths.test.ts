import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetNodes } from '../model/nodes.fixture.ts'
import { minimapPaths } from './minimap-paths.ts'

test('a minimap has one path for each severity, whatever the number of nodes', () => {
  const nodes = fleetNodes(120)
  const paths = minimapPaths(nodes, 400)
  assert.ok(paths.length <= 7)
  const cells = paths.reduce((sum, { path }) => sum + path.split('M').length - 1, 0)
  assert.equal(cells, nodes.flatMap(({ nics }) => nics).length)
})
