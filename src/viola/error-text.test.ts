import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorText } from './error-text.ts'
import { nodesFrom } from './request.ts'

const macAddress = 'fa:16:3e:aa:aa:aa'

const cases: Record<string, [body: unknown, text: string]> = {
  'two ports with one MAC address': [
    [
      { nodeName: 'worker-0', interfaces: [] },
      {
        nodeName: 'worker-1',
        interfaces: [
          { portId: 'port-1', macAddress },
          { portId: 'port-2', macAddress },
        ],
      },
    ],
    `node worker-1, port port-2: macAddress: ${macAddress} is also used by port port-1`,
  ],
  'an interface without a port': [
    [{ nodeName: 'worker-1', interfaces: [{ name: 'multinic0', macAddress, mtu: 20 }] }],
    'node worker-1, interface multinic0: mtu: Too small: expected number to be >=68',
  ],
  'an interface without a name': [
    [{ nodeName: 'worker-1', interfaces: [{ macAddress, mtu: 20 }] }],
    `node worker-1, interface ${macAddress}: mtu: Too small: expected number to be >=68`,
  ],
  'an interface that is none': [
    [{ nodeName: 'worker-1', interfaces: [null] }],
    'node worker-1, interfaces[0]: Invalid input: expected object, received null; node worker-1, interfaces[0]: macAddress: "" is not a MAC address; write six hex pairs with colons',
  ],
  'a node without interfaces': [
    [{ nodeName: 'worker-1' }],
    'node worker-1: interfaces: Invalid input: expected array, received undefined',
  ],
  'a node without a name': [
    [{ interfaces: [{ macAddress, mtu: 20 }] }],
    '[0].nodeName: Invalid input: expected string, received undefined; [0].interfaces[0].mtu: Too small: expected number to be >=68',
  ],
  'a body that is no list': [{}, 'the body must be a JSON array of node configs'],
  'names that turn around': [
    [{ nodeName: 'a\u202eb', interfaces: [{ portId: 'p\u202eq', macAddress, mtu: 20 }] }],
    'node a\\u202eb, port p\\u202eq: mtu: Too small: expected number to be >=68',
  ],
}

for (const [name, [body, text]] of Object.entries(cases))
  test(`${name}: the error names the node and the port`, () => {
    const { errors } = nodesFrom(body, 'p1')
    assert.equal(errorText(body, errors.slice(0, 2)), text)
  })
