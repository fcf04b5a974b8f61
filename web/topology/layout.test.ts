import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetNodes } from '../model/nodes.fixture.ts'
import { subnetsOf } from '../model/subnets.ts'
import { layoutRibbons } from './layout.ts'

test('each NIC on the page has one ribbon, and the subnets do not overlap', () => {
  const nodes = fleetNodes(120)
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
