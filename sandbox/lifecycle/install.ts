/**
 * What a user would install with kubectl: the CRDs, the namespace, the Secret with the key for Contrabass passwords, and an
 * OpenstackConfig.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { KubeObject } from '../../src/contract/object.ts'
import { type OpenstackConfig, openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { crds, namespaces, secrets } from '../../src/kube/resources.ts'
import { checkout } from '../checkout.ts'
import type { CloudState } from '../cloud/state.ts'
import { sandboxNamespace } from './components.ts'

const definitions = join(checkout, 'config/crd/bases')
const fieldManager = 'multinic-sandbox'

/** Read once for both clusters: parsing the YAML takes longer than installing it. */
export async function readDefinitions(): Promise<KubeObject[]> {
  const files = (await readdir(definitions)).filter(name => name.endsWith('.yaml'))
  return Promise.all(files.map(async file => parse(await readFile(join(definitions, file), 'utf8')) as KubeObject))
}

/** Both clusters get all CRDs. */
export async function installDefinitions(kube: KubeClient, read?: readonly KubeObject[]): Promise<void> {
  for (const definition of read ?? (await readDefinitions()))
    await kube.apply(crds, definition, { fieldManager, force: true })
  await kube.apply(
    namespaces,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: sandboxNamespace } },
    { fieldManager, force: true },
  )
}

export async function installEncryptKey(kube: KubeClient, cloudState: CloudState): Promise<void> {
  await kube.apply(
    secrets,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'contrabass-encrypt-key', namespace: sandboxNamespace },
      type: 'Opaque',
      data: { CONTRABASS_ENCRYPT_KEY: Buffer.from(cloudState.provider.encryptKey).toString('base64') },
    },
    { fieldManager, force: true },
  )
}

export interface ConfigInput {
  name: string
  vmNames: string[]
  subnetIDs: string[]
  clusterId: string
}

/** Without a message bus the operator polls the cloud every 500 ms. */
export function openstackConfigFor(
  cloudState: CloudState,
  { name, vmNames, subnetIDs, clusterId }: ConfigInput,
): OpenstackConfig {
  return {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { name, namespace: sandboxNamespace },
    spec: {
      subnetIDs,
      vmNames,
      credentials: {
        openstackProviderID: cloudState.provider.id,
        k8sProviderID: clusterId,
        projectID: cloudState.project.id,
      },
      settings: {
        pollFastInterval: cloudState.bus ? '5s' : '500ms',
        pollSlowInterval: cloudState.bus ? '30s' : '500ms',
        pollErrorInterval: '500ms',
        openstackPortBaseline: 'none',
      },
    },
  }
}

/** A real API server serves the collection only some time after the CRD is stored. */
export async function createConfig(kube: KubeClient, config: OpenstackConfig): Promise<void> {
  const until = performance.now() + 30_000
  for (;;) {
    try {
      await kube.create(openstackConfigs, config)
      return
    } catch (error) {
      if (!isNotFound(error) || performance.now() > until) throw error
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}
