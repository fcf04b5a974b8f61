/** Pods of an installed chart on the real kubelet of the rig, which has no scheduler. */
import type { KubeClient } from '../../src/kube/client.ts'
import { pods } from '../../src/kube/resources.ts'
import type { ControlPlane } from '../rigs/kubernetes/rig.ts'

export interface BindOptions {
  namespace: string
  node: string
  signal: AbortSignal
}

/** Binds all Pods of the namespace to the node, in place of a scheduler. */
export async function bindPods(kube: KubeClient, { namespace, node, signal }: BindOptions): Promise<void> {
  while (!signal.aborted) {
    const { items } = await kube.list(pods, { namespace }).catch(() => ({ items: [] }))
    for (const { metadata } of items.filter(pod => pod.spec?.nodeName === undefined)) {
      const target = { apiVersion: 'v1', kind: 'Node', name: node }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: metadata.name }, target }
      const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/binding`
      await kube.raw('POST', path, binding).catch(() => undefined)
    }
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

/** Description and last log lines of our Pods, for the error of a test. */
export async function podReport(cp: ControlPlane, namespace: string): Promise<string> {
  const kubectl = (...args: string[]) => cp.exec('kubectl', [...args, '--namespace', namespace], { check: false })
  const described = await kubectl('describe', 'pods')
  const logs = await Promise.all(
    ['controller', 'operator', 'viola'].map(component =>
      kubectl('logs', '--selector', `app.kubernetes.io/component=${component}`, '--tail=30'),
    ),
  )
  return [described, ...logs].map(({ stdout }) => stdout).join('\n')
}
