/** Discovery, OpenAPI and tables, as kubectl requests them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { eventually } from '../../support/eventually.ts'
import { aNodeConfig, type KubeContext, nic } from './context.ts'

const asTable = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' }

interface Table {
  kind: string
  apiVersion: string
  columnDefinitions: { name: string; type: string }[]
  rows: { cells: unknown[]; object: { kind: string; metadata: { name: string } } }[]
}

interface ApiResource {
  name: string
  kind: string
  namespaced: boolean
  singularName: string
  shortNames?: string[]
  verbs: string[]
}

export function discoveryCases(context: () => KubeContext): void {
  async function read<T>(path: string, headers = {}): Promise<T> {
    return (await context().kube.raw('GET', path, undefined, headers)).body as T
  }

  const resourcesOf = async (path: string) => (await read<{ resources: ApiResource[] }>(path)).resources

  test('the server is ready and returns its version', async () => {
    assert.equal(await read('/readyz'), 'ok')
    assert.match((await read<{ gitVersion: string }>('/version')).gitVersion, /^v1\.\d+\.\d+/)
  })

  test('the groups of the project are listed with their versions', async () => {
    const { groups } = await read<{
      groups: { name: string; versions: { version: string }[]; preferredVersion: { version: string } }[]
    }>('/apis')
    const own = groups.find(group => group.name === 'multinic.io')
    assert.deepEqual(
      own?.versions.map(({ version }) => version),
      ['v1', 'v1alpha1'],
    )
    assert.equal(own?.preferredVersion.version, 'v1')
    for (const name of ['multinic.example.com', 'batch', 'coordination.k8s.io', 'apiextensions.k8s.io'])
      assert.ok(
        groups.some(group => group.name === name),
        name,
      )
    assert.ok((await read<{ versions: string[] }>('/api')).versions.includes('v1'))
  })

  test('the kinds of the project are listed with their short names', async () => {
    const found = await resourcesOf('/apis/multinic.io/v1')
    const node = found.find(({ name }) => name === 'multinicnodeconfigs')
    assert.equal(node?.kind, 'MultiNicNodeConfig')
    assert.equal(node?.namespaced, true)
    assert.equal(node?.singularName, 'multinicnodeconfig')
    assert.deepEqual(node?.shortNames, ['mnnc'])
    for (const verb of ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'])
      assert.ok(node?.verbs.includes(verb), verb)
    assert.ok(found.some(({ name }) => name === 'multinicnodeconfigs/status'))
    const biz = found.find(({ name }) => name === 'multinicbizconfigs')
    for (const short of ['mnbc', 'multinicclusterconfig', 'multinicclusterconfigs'])
      assert.ok(biz?.shortNames?.includes(short), short)
    assert.ok((await resourcesOf('/apis/multinic.io/v1alpha1')).some(({ name }) => name === 'multinicnodeconfigs'))
    const [openstack] = await resourcesOf('/apis/multinic.example.com/v1alpha1')
    assert.deepEqual(openstack?.shortNames, ['osc'])
  })

  test('built-in kinds are listed', async () => {
    const core = await resourcesOf('/api/v1')
    assert.deepEqual(core.find(({ name }) => name === 'pods')?.shortNames, ['po'])
    assert.equal(core.find(({ name }) => name === 'nodes')?.namespaced, false)
    for (const subresource of ['pods/status', 'pods/log', 'namespaces/finalize'])
      assert.ok(
        core.some(({ name }) => name === subresource),
        subresource,
      )
    const reviews = (await resourcesOf('/apis/authorization.k8s.io/v1')).map(({ name }) => name)
    for (const name of ['selfsubjectaccessreviews', 'subjectaccessreviews', 'localsubjectaccessreviews'])
      assert.ok(reviews.includes(name), name)
    for (const kind of ['secrets', 'configmaps', 'events', 'namespaces', 'serviceaccounts'])
      assert.ok(
        core.some(({ name }) => name === kind),
        kind,
      )
    assert.ok((await resourcesOf('/apis/batch/v1')).some(({ name }) => name === 'jobs/status'))
  })

  test('OpenAPI v3 contains the schemas of custom and built-in kinds', async () => {
    interface Described {
      type?: string
      description?: string
      properties?: Record<string, Described>
      items?: Described
      allOf?: { $ref: string }[]
      'x-kubernetes-patch-merge-key'?: string
      'x-kubernetes-group-version-kind'?: { group: string; kind: string; version: string }[]
    }
    const document = async (path: string) => {
      const index = await read<unknown>('/openapi/v3')
      // The real server sends it as text/plain.
      const { paths }: { paths: Record<string, { serverRelativeURL: string }> } =
        typeof index === 'string' ? JSON.parse(index) : index
      const { serverRelativeURL } = paths[path] ?? assert.fail(`${path} is not served yet`)
      return (await read<{ components: { schemas: Record<string, Described> } }>(serverRelativeURL)).components.schemas
    }
    const schemas = await eventually(() => document('apis/multinic.io/v1'), { within: 30_000 })
    const own = Object.values(schemas).find(schema =>
      schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === 'MultiNicNodeConfig'),
    )
    const mac = own?.properties?.['spec']?.properties?.['interfaces']?.items?.properties?.['macAddress']
    assert.equal(mac?.type, 'string')
    assert.match(mac?.description ?? '', /MAC address/)
    assert.match(JSON.stringify(own?.properties?.['metadata']), /meta\.v1\.ObjectMeta/)
    const builtin = await document('apis/batch/v1')
    const podSpec = builtin['io.k8s.api.core.v1.PodSpec']
    assert.equal(podSpec?.properties?.['containers']?.['x-kubernetes-patch-merge-key'], 'name')
    assert.equal(builtin['io.k8s.api.batch.v1.JobSpec']?.properties?.['backoffLimit']?.type, 'integer')
  })

  test('a table has the columns of the CRD', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { spec: { interfaces: [nic(0), nic(1)] } }))
    const ready = { type: 'Ready', status: 'True', reason: 'AllInterfacesConfigured', message: 'fine' }
    const conditions = [{ ...ready, lastTransitionTime: '2026-01-02T03:04:05Z' }]
    await kube.patchStatus(nodeConfigs, key, { state: 'Configured', nics: '2/2', conditions })

    const paths = [
      objectPath(nodeConfigs, key),
      `${collectionPath(nodeConfigs, namespace)}?fieldSelector=metadata.name%3D${key.name}`,
    ]
    for (const path of paths) {
      const table = await read<Table>(path, asTable)
      assert.equal(table.kind, 'Table')
      assert.equal(table.apiVersion, 'meta.k8s.io/v1')
      const columns = table.columnDefinitions.map(column => column.name)
      assert.deepEqual(columns, ['Name', 'Node', 'State', 'NICs', 'Reason', 'Generation', 'Observed', 'Age'])
      const [row] = table.rows
      assert.deepEqual(row?.cells.slice(0, 5), [key.name, key.name, 'Configured', '2/2', 'AllInterfacesConfigured'])
      assert.match(String(row?.cells.at(-1)), /^\d+s$/)
      assert.equal(row?.object.kind, 'PartialObjectMetadata')
      assert.equal(row?.object.metadata.name, key.name)
    }
  })

  test('a watch can return tables, the first one with column definitions', async () => {
    const { kube, namespace, name } = context()
    const own = name()
    const { resourceVersion } = await kube.list(nodeConfigs, { namespace })
    for (const end of ['a', 'b']) {
      await kube.create(nodeConfigs, aNodeConfig(context(), `${own}-${end}`, { labels: { suite: own } }))
    }
    const query = new URLSearchParams({
      watch: 'true',
      timeoutSeconds: '1',
      labelSelector: `suite=${own}`,
      resourceVersion,
    })
    const path = `${collectionPath(nodeConfigs, namespace)}?${query}`
    const { body } = await kube.raw('GET', path, undefined, { accept: asTable.accept.split(',')[0] ?? '' })
    const [first, second] = String(body)
      .trim()
      .split('\n')
      .map((line): { type: string; object: Table } => JSON.parse(line))
    assert.equal(first?.type, 'ADDED')
    assert.equal(first?.object.kind, 'Table')
    assert.equal(first?.object.columnDefinitions.length, 8)
    assert.equal(first?.object.rows[0]?.cells[0], `${own}-a`)
    assert.equal(second?.object.rows[0]?.cells[0], `${own}-b`)
  })

  test('built-in kinds have tables', async () => {
    for (const path of [
      '/api/v1/namespaces',
      `/api/v1/namespaces/${context().namespace}/secrets`,
      '/apis/batch/v1/jobs',
    ]) {
      const table = await read<Table>(path, asTable)
      assert.equal(table.kind, 'Table')
      assert.equal(table.columnDefinitions[0]?.name, 'Name')
    }
  })
}
