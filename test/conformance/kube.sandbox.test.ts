import { startSimulated } from './kube/simulated.ts'
import { kubeConformance } from './kube.ts'

kubeConformance('the simulated Kubernetes API server', startSimulated)
