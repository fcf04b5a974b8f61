import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aFleet } from '../../test/support/fleet.ts'
import { nodeOf } from '../model/nodes.ts'
import { capacityOf, networkOf, subnetsOf } from '../model/subnets.ts'
import { layoutNode, layoutRibbons, minimapPaths, picture, poolOf, windowOf } from './layout.ts'

const nodes = aFleet({ nodes: 120, now: new Date('2026-01-02T00:00:00Z') }).map(write =>
  nodeOf({ ...write, updatedAt: '2026-01-02T00:00:00Z' }, []),
)

test('in the picture of a node nothing lies on anything else, and all is inside', () => {
  for (const { nics } of nodes) {
    const { height, rows, boxes, primary } = layoutNode(nics)
    const tops = [primary.box, ...boxes.map(({ y }) => y)]
    tops.reduce((above, y) => {
      assert.ok(y >= above + 38, `box at ${y} under one at ${above}`)
      return y
    })
    assert.ok((tops.at(-1) ?? 0) + 38 <= height && (tops[0] ?? 0) >= 0)
    assert.ok((rows.at(-1)?.y ?? 0) + 20 <= height)
    for (const { middle } of rows) assert.ok(middle.x > picture.plug && middle.x < picture.boxes)
  }
})

test('ten NICs on one subnet have ten places at it', () => {
  const [first] = nodes[0]?.nics ?? []
  assert.ok(first)
  const nics = Array.from({ length: 10 }, (_, slot) => ({ ...first, slot, name: `multinic${slot}` }))
  const { rows, boxes } = layoutNode(nics)
  assert.equal(boxes.length, 1)
  assert.equal(new Set(rows.map(({ cable }) => cable)).size, 10)
})

test('every NIC of the page has one ribbon, from a subnet that does not overlap the next', () => {
  const page = nodes.slice(0, 40)
  const layout = layoutRibbons(subnetsOf(nodes), page)
  assert.equal(layout.ribbons.length, page.flatMap(({ nics }) => nics).length)
  assert.equal(new Set(layout.ribbons.map(({ id }) => id)).size, layout.ribbons.length)
  layout.subnets.reduce((above, box) => {
    assert.ok(box.y >= above.y + above.height)
    return box
  })
  const last = layout.subnets.at(-1)
  assert.ok(last && last.y + last.height <= layout.height + 0.01)
})

test('a minimap is a handful of paths, however many nodes there are', () => {
  const paths = minimapPaths(nodes, 400)
  assert.ok(paths.length <= 7)
  const cells = paths.reduce((sum, { path }) => sum + path.split('M').length - 1, 0)
  assert.equal(cells, nodes.flatMap(({ nics }) => nics).length)
})

test('only rows in sight are drawn', () => {
  assert.deepEqual(windowOf(1_000, 25, 0, 500), { first: 0, last: 26 })
  assert.deepEqual(windowOf(1_000, 25, 10_000, 500), { first: 394, last: 426 })
  assert.deepEqual(windowOf(3, 25, 0, 500), { first: 0, last: 3 })
})

test('a row that has left is never the one that is still there', () => {
  for (const scrolled of [0, 13, 99, 100, 1_234, 12_345]) {
    const { first, last } = windowOf(1_000, 25, scrolled, 500)
    assert.ok(last - first <= poolOf(25, 500), `${last - first} rows at ${scrolled}`)
  }
})

test('networks are cut to their prefix', () => {
  const cases = {
    '10.20.5.17/22': '10.20.4.0/22',
    '192.168.1.10/24': '192.168.1.0/24',
    '0.0.0.0/0': '0.0.0.0/0',
    '10.0.0.1/32': '10.0.0.1/32',
    'fd00::/64': 'fd00::/64',
    '': '',
  }
  for (const [cidr, network] of Object.entries(cases)) assert.equal(networkOf(cidr), network)
  assert.deepEqual([capacityOf('10.0.0.0/24'), capacityOf('10.0.0.0/31'), capacityOf('fd00::/64')], [254, 2, undefined])
})
