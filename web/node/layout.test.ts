import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetNodes } from '../model/nodes.fixture.ts'
import { layoutNode, picture } from './layout.ts'

const nodes = fleetNodes(120)

test('the parts of the picture do not overlap and stay inside', () => {
  for (const { nics } of nodes) {
    const { height, rows, boxes, primary } = layoutNode(nics)
    const tops = [primary.box, ...boxes.map(({ y }) => y)]
    tops.reduce((above, y) => {
      assert.ok(y >= above + 38, `box at ${y} overlaps the box at ${above}`)
      return y
    })
    assert.ok((tops.at(-1) ?? 0) + 38 <= height && (tops[0] ?? 0) >= 0)
    assert.ok((rows.at(-1)?.y ?? 0) + 20 <= height)
    for (const { middle } of rows) assert.ok(middle.x > picture.plug && middle.x < picture.boxes)
  }
})

test('ten NICs on one subnet have ten different cables', () => {
  const [first] = nodes[0]?.nics ?? []
  assert.ok(first)
  const nics = Array.from({ length: 10 }, (_, index) => ({ ...first, index, name: `multinic${index}` }))
  const { rows, boxes } = layoutNode(nics)
  assert.equal(boxes.length, 1)
  assert.equal(new Set(rows.map(({ cable }) => cable)).size, 10)
})
