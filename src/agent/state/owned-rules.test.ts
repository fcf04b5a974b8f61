import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aRule } from '../test/agent.fixture.ts'
import { namesRule, rulesInFile } from './owned-rules.ts'

const goNetplan = `network:
    ethernets:
        multinic0:
            addresses:
                - 10.100.0.10/24
            routes:
                - metric: 100
                  table: 100
                  to: 10.100.0.0/24
            routing-policy:
                - from: 10.100.0.10/24
                  table: 100
            set-name: multinic0
    version: 2
`
const goKeyfile = `[ipv4]
address1=10.100.0.10/24
route-table=100
route1=10.100.0.0/24,,100
routing-rules=priority 10100 from 10.100.0.10/32 table 100
`

for (const [name, text] of Object.entries({ Netplan: goNetplan, keyfile: goKeyfile }))
  test(`the ${name} file of the Go implementation names its rule, whatever priority the kernel gave it`, () => {
    const rules = new Set(rulesInFile(text))
    for (const priority of [32_765, 32_760, 10_100])
      assert.ok(namesRule(rules, aRule({ from: '10.100.0.10/32', priority })), [...rules].join())
    for (const foreign of [{ from: '10.100.0.11/32' }, { from: '10.100.0.10/32', table: 101 }, { to: '10.100.0.0/24' }])
      assert.equal(namesRule(rules, aRule(foreign)), false)
  })

test('networkd masks the address in the Netplan file of the Go implementation', () => {
  assert.ok(namesRule(new Set(rulesInFile(goNetplan)), aRule({ from: '10.100.0.0/24' })))
})

test('a file without rules, or with incomplete ones, names none', () => {
  const incomplete = [
    '',
    'from',
    'from 10.0.0.1',
    'table 100',
    '[RoutingPolicyRule]\nTable=100',
    'routing-policy:\n- to: x',
  ]
  for (const text of incomplete) assert.deepEqual(rulesInFile(text), [], text)
})
