/**
 * A real Kubernetes for tests: etcd, kube-apiserver, kube-controller-manager, and nodes with a real kubelet and containerd.
 *
 * Only in a world of its own (scripts/e2e.ts makes one a test file), which also ends whatever a crashed test leaves behind.
 */
export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'
export { type NodeOptions, type RigNode, startNode } from './node.ts'
