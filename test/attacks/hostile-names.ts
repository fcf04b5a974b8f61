/**
 * Records and verdicts whose every text is code: what tenants of the cloud, owners of an OpenstackConfig and nodes can write.
 */
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import { inventoryWrite } from '../../src/contract/inventory.ts'
import { type VerdictWrite, verdictWrite } from '../../src/contract/operator-api.ts'

/** Marks of the writing direction, and characters that a terminal obeys. */
const invisible = '\u202e\u2066\u200b\u2028'
const control = '\u0007\u001b[31m'

/** Runs in each context where a page could put it: an element, an attribute in either quotes, a script. */
const hostile = (field: string) =>
  `${field}${invisible}${control}'"></script><img src=x onerror=ran.push("${field}")><script>ran.push(1)</script>`

/** As the dashboard shows it. */
export const shownName = (field: string) => hostile(field).replaceAll(/[\u202e\u2066\u200b\u2028]/g, '\ufffd')

const link = (field: string) => `javascript:ran.push("${field}")//<svg onload=ran.push(2)>`

/** The fields with a hostile text that some screen shows in full. */
export const shownFields = [
  ...['node', 'provider', 'provider-id', 'vm', 'vm-id', 'port', 'subnet', 'network', 'source', 'why'],
  ...['message', 'pending', 'verdict-vm', 'verdict-port', 'verdict-config', 'verdict-message'],
]

type Interface = InventoryWrite['config']['interfaces'][number]

function interfaceOf(id: number, more: Partial<Interface> = {}): Interface {
  return {
    ...{
      id,
      name: `multinic${id}`,
      portId: hostile(id === 0 ? 'port' : `port-${id}`),
      macAddress: `02:00:00:00:00:0${id}`,
    },
    ...{ address: `10.66.0.${id + 1}`, cidr: '10.66.0.0/24', mtu: 1450, networkId: hostile('network-id') },
    ...{ subnetId: hostile('subnet-id'), subnetName: hostile('subnet'), networkName: hostile('network') },
    ...{ source: hostile('source'), ...more },
  }
}

export function hostileRecords(): InventoryWrite[] {
  const names = { providerId: hostile('provider-id'), providerName: hostile('provider') }
  const [nodeName, instanceId] = [hostile('node'), hostile('vm-id')]
  const [first, second, third] = [interfaceOf(0), interfaceOf(1), interfaceOf(2)]
  const stateOf = ({ id, name, portId, macAddress }: Interface) => ({ id, name, portId, macAddress })
  const observed = { name: '<b onclick=a()>', mtu: 9, addresses: ['<img src=x onerror=ran.push("observed")>'] }
  const writes = [
    {
      ...{ ...names, nodeName, instanceId, instanceName: hostile('vm') },
      config: { nodeName, instanceId, interfaces: [first, second, third] },
      ...{ lastConfigHash: 'h1', state: 'Failed', reason: 'VerifyFailed', message: hostile('node-message') },
      agentRollout: {
        request: '<img src=x>',
        state: 'Waiting',
        reason: '<svg/onload=ran.push(3)>',
        message: hostile('rollout'),
      },
      interfaces: [
        {
          ...stateOf(first),
          status: 'Failed',
          reason: '<svg onload=ran.push(4)>',
          message: hostile('message'),
          observed,
        },
        { ...stateOf(second), status: 'Configured', pending: { reason: '<svg/x>', message: hostile('pending') } },
        // A name of a built-in property is no reason of the catalogue.
        { ...stateOf(third), status: 'Failed', reason: 'constructor', message: hostile('third') },
        {
          id: 5,
          name: '<b id=intruder>',
          portId: 'p5',
          macAddress: '02:00:00:00:00:55',
          status: 'Configured',
          observed,
        },
      ],
      why: hostile('why'),
    },
    {
      ...{ providerId: link('provider'), nodeName: link('node'), instanceId: '__proto__', instanceName: 'toString' },
      config: {
        nodeName: link('node'),
        instanceId: '__proto__',
        interfaces: [interfaceOf(3, { source: link('source') })],
      },
      ...{ lastConfigHash: 'h2', state: 'Configured', reason: 'Configured', why: link('why') },
    },
  ]
  return writes.map(write => inventoryWrite.parse(write))
}

export function hostileVerdicts(): VerdictWrite[] {
  const about = { vm: hostile('verdict-vm'), vmName: hostile('verdict-vm') }
  const write = {
    ...{ providerId: hostile('provider-id'), config: hostile('verdict-config') },
    verdicts: [
      { ...about, portId: hostile('verdict-port'), reason: 'PortTooOld', message: hostile('verdict-message') },
      {
        vm: hostile('vm-id'),
        portId: hostile('other-port'),
        reason: '<svg onload=ran.push(5)>',
        message: link('message'),
      },
      { vm: hostile('vm-id'), portId: hostile('port'), reason: 'Selected', message: hostile('selected'), name: '<b>' },
    ],
  }
  return [verdictWrite.parse(write)]
}
