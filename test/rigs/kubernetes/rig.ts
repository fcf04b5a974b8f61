/**
 * A real Kubernetes for tests: etcd, kube-apiserver, kube-controller-manager, and nodes with a real kubelet and containerd.
 *
 * Requires isolation (isolation.ts), which also ends all processes after a crash of the test.
 */
export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'
export { type NodeOptions, type RigNode, startNode } from './node.ts'
export { type PodNetwork, startPodNetwork } from './pod-network.ts'
export { type ProxyMode, proxyConfig, proxyKubeconfig } from './proxy.ts'
