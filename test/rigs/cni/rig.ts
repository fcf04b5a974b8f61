/**
 * Secondary networks of Pods by the real Multus and the real CNI plugins, on the nodes of `kubernetes/rig.ts`.
 */
import { join } from 'node:path'
import { pointToPoint } from '../kubernetes/pod-network.ts'
import type { ControlPlane, NodeOptions } from '../kubernetes/rig.ts'
import { run } from '../process.ts'

export const networkAttachments = 'network-attachment-definitions.k8s.cni.cncf.io'

/** The directory of the programs. */
export async function cniPlugins(): Promise<string> {
  return (await run(join(import.meta.dirname, 'build.sh'), [])).stdout.trim()
}

/** Creates the CRD of Multus. */
export async function installMultus(cp: Pick<ControlPlane, 'exec'>): Promise<void> {
  await cp.exec('kubectl', ['apply', '-f', '-'], { input: JSON.stringify(networkAttachmentCrd) })
  await cp.exec('kubectl', ['wait', '--for=condition=Established', '--timeout=60s', 'crd', networkAttachments])
}

/** The first network of a Pod is a veth pair to its node; its annotation adds others. */
export async function multusOn(
  { kubeconfig }: ControlPlane,
  podCidr: string,
): Promise<NonNullable<NodeOptions['cni']>> {
  const plugins = await cniPlugins()
  const primary = { cniVersion: '0.3.1', name: 'pods', plugins: [pointToPoint(podCidr)] }
  const multus = { type: 'multus', kubeconfig, binDir: plugins, delegates: [primary] }
  return { plugins, config: { cniVersion: '0.3.1', name: 'multus', plugins: [multus] } }
}

export const networkAttachmentCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: networkAttachments },
  spec: {
    group: 'k8s.cni.cncf.io',
    scope: 'Namespaced',
    names: {
      plural: 'network-attachment-definitions',
      singular: 'network-attachment-definition',
      kind: 'NetworkAttachmentDefinition',
      shortNames: ['net-attach-def'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { config: { type: 'string' } } } },
          },
        },
      },
    ],
  },
}
