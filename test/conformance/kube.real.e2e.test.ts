import { startControlPlane } from '../rigs/kubernetes/rig.ts'
import { kubeConformance } from './kube.ts'

kubeConformance('a real kube-apiserver with etcd and kube-controller-manager', () => startControlPlane())
