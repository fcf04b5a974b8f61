/**
 * Surfaces that count or list all nodes, compared with the MultiNicNodeConfigs: metrics, OpenstackConfig, Viola, the list of
 * providers, `doctor` and the support bundle.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { request } from 'undici'
import type { InventoryRecord, ProviderCatalog } from '../../src/contract/inventory.ts'
import { type NodeConfig, nodeConfigs, states } from '../../src/contract/node-config.ts'
import { readyOf } from '../../src/contract/object.ts'
import type { OpenstackConfig } from '../../src/contract/openstack-config.ts'
import type { Run } from '../support/cli.ts'
import { type Family, parseExposition } from '../support/exposition.ts'
import type { TestSandbox } from '../system/sandbox.fixture.ts'

export interface Fleet {
  configs: NodeConfig[]
  metrics: Record<'controller' | 'operator', Map<string, Family>>
  openstackConfig: OpenstackConfig
  viola: { nodeName: string; status?: { state?: string } }[]
  providers: ProviderCatalog
  /** Of the provider, and of each VM. */
  records: InventoryRecord[]
  byInstance: InventoryRecord[]
  doctor: string
  bundle: NodeConfig[]
}

export async function readFleet(system: TestSandbox, multinic: Run): Promise<Fleet> {
  const { urls, biz, clusterId } = system.sandbox
  const viola = await system.call(`${urls['viola']}/v1/k8s/multinic/node-configs`, {
    headers: { 'x-provider-id': clusterId },
  })
  assert.equal(viola.status, 200, JSON.stringify(viola.body))
  const metricsOf = async (component: 'controller' | 'operator') => {
    const { statusCode, body } = await request(`${urls[component]}/metrics`)
    const text = await body.text()
    assert.equal(statusCode, 200, text)
    return parseExposition(text)
  }
  const recordsOf = async (path: string) => {
    const { status, body } = await system.call(`${urls['inventory']}/v1/interfaces/node-configs${path}`)
    assert.ok(status === 200 || status === 404, JSON.stringify(body))
    return status === 200 ? [body as InventoryRecord | InventoryRecord[]].flat() : []
  }
  const servers = [...system.sandbox.nodes.values()].map(({ server }) => server.id)
  const byInstance = await Promise.all(servers.map(id => recordsOf(`/by-instance/${id}?providerId=${clusterId}`)))
  return {
    byInstance: byInstance.flat(),
    records: await recordsOf(`?providerId=${clusterId}`),
    bundle: await bundledConfigs(multinic),
    doctor: (await multinic('doctor')).out,
    metrics: { controller: await metricsOf('controller'), operator: await metricsOf('operator') },
    providers: (await system.call(`${urls['inventory']}/v1/interfaces/providers`)).body as ProviderCatalog,
    openstackConfig: await system.openstackConfig(),
    viola: (viola.body as { items: Fleet['viola'] }).items,
    configs: (await biz.kube.list(nodeConfigs)).items,
  }
}

async function bundledConfigs(multinic: Run): Promise<NodeConfig[]> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-bundle-'))
  const file = join(dir, 'bundle.tgz')
  try {
    const { code, error } = await multinic('support-bundle', '--file', file)
    assert.equal(code, 0, error)
    const of = '*/multinicnodeconfigs.json'
    const { stdout } = await promisify(execFile)('tar', ['-xzOf', file, '--wildcards', of], { maxBuffer: 1 << 26 })
    return JSON.parse(stdout)
  } finally {
    await rm(dir, { recursive: true })
  }
}

/** What the surface says, and what it should say. */
type Claim = [said: unknown, expected: unknown]

const statesOf = (configs: readonly NodeConfig[]) =>
  configs
    .map(({ metadata: { name }, status }) => [
      name,
      status?.state,
      status?.interfaceStatuses?.map(({ name, status, reason }) => [name, status, reason]),
    ])
    .sort()
const recordedStates = (records: readonly InventoryRecord[]) =>
  records
    .map(({ nodeName, state, interfaces }) => [
      nodeName,
      state,
      interfaces?.map(({ name, status, reason }) => [name, status, reason]),
    ])
    .sort()
const isConfigured = ({ status }: NodeConfig) => status?.state === 'Configured'
const sampleOf = (families: Map<string, Family>, name: string, labels: Record<string, string> = {}) =>
  families
    .get(name)
    ?.samples.find(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value ??
  0

const claims = {
  'the metrics of the controller': ({ metrics: { controller }, configs }): Claim => [
    [
      ...states.map(state => sampleOf(controller, 'multinic_configs', { state })),
      sampleOf(controller, 'multinic_configs_drifted'),
    ],
    [
      ...states.map(state => configs.filter(({ status }) => (status?.state ?? 'Pending') === state).length),
      configs.filter(config => readyOf(config)?.reason === 'Drifted').length,
    ],
  ],
  'the metrics of the operator': ({ metrics: { operator }, configs }): Claim => [
    [
      sampleOf(operator, 'multinic_operator_ports', { reason: 'Selected' }),
      sampleOf(operator, 'multinic_operator_removals_on_hold'),
    ],
    [configs.flatMap(({ spec }) => spec.interfaces).length, 0],
  ],
  'the OpenstackConfig': ({ openstackConfig: { status }, configs }): Claim => {
    const configured = configs.filter(isConfigured).length
    const of = (type: string) => status?.conditions?.find(one => one.type === type)?.status
    return [
      [status?.nodes?.ready, status?.ports?.selected, of('Ready'), of('NodesReady'), of('Degraded')],
      [
        `${configured}/${configs.length}`,
        configs.flatMap(({ spec }) => spec.interfaces).length,
        'True',
        configured === configs.length ? 'True' : 'False',
        configs.some(config => config.status?.state === 'Failed') ? 'True' : 'False',
      ],
    ]
  },
  'the list of Viola': ({ viola, configs }): Claim => [
    viola.map(({ nodeName, status }) => [nodeName, status?.state]).sort(),
    configs.map(({ spec, status }) => [spec.nodeName, status?.state]).sort(),
  ],
  'the list of providers': ({ providers, configs }): Claim => [
    providers.providers.flatMap(({ nodes }) => nodes.map(one => [one.nodeName, one.interfaceCount])).sort(),
    configs.map(({ spec }) => [spec.nodeName, spec.interfaces.length]).sort(),
  ],
  'the records of the provider': ({ records, configs }): Claim => [recordedStates(records), statesOf(configs)],
  'the records by VM': ({ byInstance, configs }): Claim => [recordedStates(byInstance), statesOf(configs)],
  'multinic doctor': ({ doctor, configs }): Claim => [
    [...doctor.matchAll(/node (\S+) is Failed/g)].map(([, name]) => name).sort(),
    configs.flatMap(({ spec, status }) => (status?.state === 'Failed' ? [spec.nodeName] : [])).sort(),
  ],
  'the support bundle': ({ bundle, configs }): Claim => [statesOf(bundle), statesOf(configs)],
} as const satisfies Record<string, (fleet: Fleet) => Claim>

export const fleetSurfaces = Object.keys(claims) as (keyof typeof claims)[]

export function fleetContradictions(fleet: Fleet): string[] {
  return fleetSurfaces.flatMap(surface => {
    const [said, expected] = claims[surface](fleet)
    if (isDeepStrictEqual(said, expected)) return []
    return [`${surface}: ${JSON.stringify(said)}, expected ${JSON.stringify(expected)}`]
  })
}
