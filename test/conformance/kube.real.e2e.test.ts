import { after } from 'node:test'
import { binary } from '../rigs/kubernetes/binaries.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { startSimulated } from './kube/simulated.ts'
import { kubeConformance } from './kube.ts'
import { allKubectls } from './kubectl/binaries.ts'
import { kubectlConformance } from './kubectl.ts'

let started: Promise<ControlPlane> | undefined
async function openReal() {
  started ??= startControlPlane()
  const { kubeconfig } = await started
  return { kubeconfig, close: async () => {} }
}
after(async () => (await started)?.close())

for (const { name, path } of allKubectls(binary('kubectl'))) {
  kubectlConformance(`${name} on a real kube-apiserver`, path, openReal)
}
for (const { name, path } of allKubectls(binary('kubectl')).slice(0, 1)) {
  kubectlConformance(`${name} on the simulated Kubernetes API server`, path, startSimulated)
}

// Last: it leaves objects with finalizers, and the kubectl suite deletes the CRDs.
kubeConformance('a real kube-apiserver with etcd and kube-controller-manager', openReal)
