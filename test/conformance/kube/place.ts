/**
 * Where the suite works: a client, the project's CRDs installed, and a namespace of its own.
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
import { crds, namespaces, secrets } from '../../../src/kube/resources.ts'
import type { Key, KubeObject, Resource } from '../../../src/kube/types.ts'
import { eventually } from '../../support/eventually.ts'

export interface Place {
  kube: KubeClient
  kubeconfig: string
  namespace: string
  /** A name that no other case uses. */
  name(): string
}

const crdFolder = new URL('../../../config/crd/bases/', import.meta.url)

export const nodeConfigsAlpha: Resource<NodeConfig> = { ...nodeConfigs, version: 'v1alpha1' }

export async function settleIn(kubeconfig: string): Promise<{ place: Place; leave(): Promise<void> }> {
  const kube = connectKube(await loadKubeconfig(kubeconfig))
  await installCrds(kube)
  const namespace = `conformance-${randomBytes(4).toString('hex')}`
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  // A new namespace is not at once known to every part of a server.
  await eventually(
    async () => {
      const metadata = { name: 'first', namespace }
      await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata }).catch(unlessExisting)
    },
    { within: 60_000 },
  )

  let made = 0
  return {
    place: { kube, kubeconfig, namespace, name: () => `case-${++made}` },
    async leave() {
      await kube.delete(namespaces, { name: namespace })
      await kube.close()
    },
  }
}

async function installCrds(kube: KubeClient): Promise<void> {
  for (const file of await readdir(crdFolder)) {
    if (!file.endsWith('.yaml')) continue
    const wanted: KubeObject = parse(await readFile(new URL(file, crdFolder), 'utf8'))
    const present = await kube.get(crds, wanted.metadata)
    if (!present) await kube.create(crds, wanted)
    else {
      const { resourceVersion = '' } = present.metadata
      await kube.replace(crds, { ...wanted, metadata: { ...wanted.metadata, resourceVersion } })
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
  { namespace }: Place,
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
  assert.ok(found, `${resource.kind} ${key.name} is there`)
  return found
}

/** The refusal of a request, by what the server says. */
export async function refusal(request: Promise<unknown>): Promise<KubeError> {
  try {
    await request
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error))
    return error
  }
  assert.fail('the server accepted it')
}
