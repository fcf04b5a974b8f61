/**
 * Context of the suite: a client, the installed CRDs of the project, and a namespace.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { type NodeConfig, nodeConfigs } from '../../../src/contract/node-config.ts'
import { openstackConfigs } from '../../../src/contract/openstack-config.ts'
import { connectKube, type KubeClient } from '../../../src/kube/client.ts'
import { loadKubeconfig } from '../../../src/kube/config.ts'
import { isForbidden, isNotFound, KubeError } from '../../../src/kube/errors.ts'
import { collectionPath } from '../../../src/kube/paths.ts'
import { crds, namespaces, secrets } from '../../../src/kube/resources.ts'
import type { Key, KubeObject, Resource } from '../../../src/kube/types.ts'
import { eventually } from '../../support/eventually.ts'

export interface KubeContext {
  kube: KubeClient
  kubeconfig: string
  namespace: string
  /** Returns a new name with each call. */
  name(): string
}

const crdFolder = new URL('../../../config/crd/bases/', import.meta.url)

export const nodeConfigsAlpha: Resource<NodeConfig> = { ...nodeConfigs, version: 'v1alpha1' }

export async function createContext(kubeconfig: string): Promise<{ context: KubeContext; close(): Promise<void> }> {
  const kube = connectKube(await loadKubeconfig(kubeconfig))
  await installCrds(kube)
  const namespace = `conformance-${randomBytes(4).toString('hex')}`
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  // Admission may reject objects in a namespace that was created just now.
  await eventually(
    async () => {
      const metadata = { name: 'first', namespace }
      await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata }).catch(unlessExisting)
    },
    { within: 60_000 },
  )

  let names = 0
  return {
    context: { kube, kubeconfig, namespace, name: () => `case-${++names}` },
    async close() {
      await kube.delete(namespaces, { name: namespace })
      await kube.close()
    },
  }
}

async function installCrds(kube: KubeClient): Promise<void> {
  for (const file of await readdir(crdFolder)) {
    if (!file.endsWith('.yaml')) continue
    const definition: KubeObject = parse(await readFile(new URL(file, crdFolder), 'utf8'))
    const present = await kube.get(crds, definition.metadata)
    if (!present) await kube.create(crds, definition)
    else {
      const { resourceVersion = '' } = present.metadata
      await kube.replace(crds, { ...definition, metadata: { ...definition.metadata, resourceVersion } })
    }
  }
  const served: Resource[] = [nodeConfigs, nodeConfigsAlpha, openstackConfigs]
  for (const resource of served) {
    await eventually(() => kube.list(resource), { within: 30_000, every: 100 })
  }
}

function unlessExisting(error: unknown): void {
  if (error instanceof KubeError && error.reason === 'AlreadyExists') return
  assert.ok(isNotFound(error) || isForbidden(error))
  throw error
}

export function nic(id: number) {
  return {
    id,
    name: `multinic${id}`,
    portId: `port-${id}`,
    macAddress: `fa:16:3e:00:00:0${id}`,
    address: `192.168.${id}.10`,
    cidr: `192.168.${id}.0/24`,
    mtu: 1450,
  }
}

export function aNodeConfig(
  { namespace }: KubeContext,
  name: string,
  more: { labels?: Record<string, string>; finalizers?: string[]; spec?: object } = {},
): NodeConfig {
  const { labels, finalizers, spec } = more
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name, namespace, ...(labels && { labels }), ...(finalizers && { finalizers }) },
    spec: { nodeName: name, interfaces: [nic(0)], ...spec },
  }
}

export async function present<T extends KubeObject>(kube: KubeClient, resource: Resource<T>, key: Key): Promise<T> {
  const found = await kube.get(resource, key)
  assert.ok(found, `${resource.kind} ${key.name} exists`)
  return found
}

/** The error of a rejected request. */
export async function rejection(request: Promise<unknown>): Promise<KubeError> {
  try {
    await request
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error))
    return error
  }
  assert.fail('the server accepted the request')
}

/** The error of a create with additional metadata. */
export function rejectedWithMetadata(context: KubeContext, metadata: object): Promise<KubeError> {
  const config = aNodeConfig(context, context.name())
  const body = { ...config, metadata: { ...config.metadata, ...metadata } }
  return rejection(context.kube.raw('POST', collectionPath(nodeConfigs, context.namespace), body))
}
