import { after } from 'node:test'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { startSimulated } from './kube/simulated.ts'
import { kubeConformance } from './kube.ts'
import { findKubectl } from './kubectl/binaries.ts'
import { kubectlConformance } from './kubectl.ts'

let started: Promise<ControlPlane> | undefined
async function openReal() {
  started ??= startControlPlane()
  const { kubeconfig } = await started
  return { kubeconfig, close: async () => {} }
}
after(async () => (await started)?.close())

const { name, path } = findKubectl()
kubectlConformance(`${name} on a real kube-apiserver`, path, openReal)
kubectlConformance(`${name} on the simulated Kubernetes API server`, path, startSimulated)

// Last: it leaves objects with finalizers, and the kubectl suite deletes the CRDs.
kubeConformance('a real kube-apiserver with etcd and kube-controller-manager', openReal)
