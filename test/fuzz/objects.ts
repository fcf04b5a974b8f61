/**
 * Creates a thousand broken objects of our kinds while the controller and the operator watch. The API server refuses each
 * with the field, or a component reports its status. Both components keep running.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { request } from 'undici'
import { parse } from 'yaml'
import { bizConfigs } from '../../src/contract/legacy/biz-config.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { runNodeController } from '../../src/controller/main.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { KubeError } from '../../src/kube/errors.ts'
import { collectionPath } from '../../src/kube/paths.ts'
import { namespaces } from '../../src/kube/resources.ts'
import type { KubeObject, Resource } from '../../src/kube/types.ts'
import { runOperator } from '../../src/operator/main.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { eventually } from '../support/eventually.ts'
import { brokenValues } from './broken-inputs.ts'
import { fuzz } from './fuzz.ts'

const sample = (name: string): KubeObject =>
  parse(readFileSync(new URL(`../samples/${name}.yaml`, import.meta.url), 'utf8'))
const kinds: [resource: Resource, name: string][] = [
  [openstackConfigs as Resource, 'openstackconfig'],
  [nodeConfigs as Resource, 'multinicnodeconfig'],
  [bizConfigs as Resource, 'multinicbizconfig'],
]

export function brokenObjectCases(cluster: () => { kube: KubeClient; kubeconfig: string }): void {
  test('a thousand broken objects are refused with the field or get a status, and no component fails', async () => {
    const { kube, kubeconfig } = cluster()
    const namespace = `broken-${randomBytes(4).toString('hex')}`
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const programErrors: string[] = []
    const components = await startComponents(kubeconfig, namespace, programErrors)
    let count = 0
    const objects = fc.oneof(
      ...kinds.map(([resource, name]) =>
        brokenValues([{ ...sample(name), apiVersion: `${resource.group}/${resource.version}` }]).map(value => ({
          resource,
          value,
        })),
      ),
    )
    try {
      await fuzz(
        objects,
        async ({ resource, value }) => {
          const body = withUniqueName(withUniqueMachines(value, ++count), { name: `case-${count}`, namespace })
          try {
            await kube.raw('POST', collectionPath(resource, namespace), body)
            return 'accepted'
          } catch (error) {
            assert.ok(error instanceof KubeError, String(error))
            assert.ok([400, 404, 413, 415, 422].includes(error.status), `${error.status} ${error.message}`)
            if (error.status === 422) assert.match(error.message, /spec|metadata|status|apiVersion|kind/)
            return 'refused'
          }
        },
        { runs: 1_000, atLeast: { accepted: 1_000, refused: 1_000 } },
      )
      for (const [resource] of kinds) await expectStatus(kube, resource, namespace)
      await components.expectReady()
      assert.deepEqual(programErrors, [])
    } finally {
      await components.stop()
    }
  })
}

/** Each object has its own machines: several objects for one machine are another test. */
function withUniqueMachines(value: unknown, number: number): unknown {
  const text = JSON.stringify(value) ?? 'null'
  return JSON.parse(text.replaceAll('i-0', `i-${number}-0`).replaceAll('worker-', `worker-${number}-`))
}

const isName = /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/

/** Each object has its own name, unless its metadata is broken. */
function withUniqueName(value: unknown, { name, namespace }: { name: string; namespace: string }): unknown {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return value
  const { metadata } = value
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return value
  const hasName = 'name' in metadata && typeof metadata.name === 'string' && isName.test(metadata.name)
  return { ...value, metadata: { ...metadata, namespace, ...(hasName && { name }) } }
}

/** Every accepted object gets conditions. */
async function expectStatus(kube: KubeClient, resource: Resource, namespace: string): Promise<void> {
  await eventually(
    async () => {
      const { items } = await kube.list(resource as Resource<KubeObject & { status?: { conditions?: object[] } }>, {
        namespace,
      })
      assert.ok(items.length > 0)
      const notReported = items.filter(({ status }) => !status?.conditions?.length)
      assert.deepEqual(
        notReported.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
        [],
      )
    },
    { within: 90_000, every: 250 },
  )
}

async function startComponents(kubeconfig: string, namespace: string, programErrors: string[]) {
  const stop = new AbortController()
  const log = createLog({}, { level: 'warn', write: line => isProgramError(line) && programErrors.push(line) })
  const urls = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const
  const controller = runNodeController({
    env: { KUBECONFIG: kubeconfig, CONTROLLER_NAMESPACE: namespace, HEALTH_ADDR: '127.0.0.1:0' },
    log,
    signal: stop.signal,
    onListening: urls[0].resolve,
  })
  const operator = runOperator({
    env: {
      KUBECONFIG: kubeconfig,
      WATCH_NAMESPACES: namespace,
      POD_NAMESPACE: namespace,
      OPERATOR_ADDR: '127.0.0.1:0',
      // Nothing listens there: a valid object gets that error.
      CONTRABASS_ENDPOINT: 'http://127.0.0.1:1',
      VIOLA_ENDPOINT: 'http://127.0.0.1:1',
      ENDPOINT_ALLOWED_HOSTS: '127.0.0.1',
    },
    log,
    signal: stop.signal,
    recorder: { put: async () => true, list: async () => [] },
    onListen: urls[1].resolve,
  })
  for (const [index, component] of [controller, operator].entries()) component.catch(urls[index]?.reject)
  const addresses = await Promise.all(urls.map(({ promise }) => promise))
  return {
    async expectReady() {
      for (const url of addresses) {
        const { statusCode, body } = await request(`${url}/readyz`)
        assert.equal(statusCode, 200, await body.text())
      }
    },
    async stop() {
      stop.abort()
      await Promise.all([controller, operator])
    },
  }
}

/** Errors that only a bug causes. */
function isProgramError(line: string): boolean {
  return /TypeError|RangeError|ReferenceError|Cannot read prop|is not a function|is not iterable/.test(line)
}
