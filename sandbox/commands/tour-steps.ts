/**
 * The steps of the guided tour. Data only: tour.ts runs them.
 */
import type { FaultName } from '../faults/catalogue.ts'

export type TourStep =
  | { say: string }
  /** Waits for Enter in a terminal. */
  | { pause: string }
  | { show: 'status' }
  /** Attaches a port under a name for later steps. */
  | { attach: { vm: string; subnet: string; as: string } }
  | { untilConfigured: string }
  /** Detaches a port and waits until its NIC is gone. */
  | { detach: string }
  | { run: { node: string; line: string } }
  | { fault: FaultName }
  | { end: FaultName }
  | { reboot: string }

export const title =
  'MultiNIC in five minutes: You attach a port to an OpenStack VM that is a Kubernetes node. The node gets a named, addressed, routed and verified NIC. Everything runs on this machine: two clusters, a cloud, three nodes, and all MultiNIC components as in production.'

const addresses = 'ip -brief address'

export const tourSteps: readonly TourStep[] = [
  { say: 'This is the sandbox. Four ports are attached, and each is already a NIC on its node.' },
  { show: 'status' },
  { pause: 'Press Enter to attach another port' },
  {
    say: 'Nova attaches a port to worker-2. The rest is automatic: the operator finds the port in Neutron, assigns an interface index and delivers the config to Viola. Viola writes the MultiNicNodeConfig, the controller starts a Job, and its agent configures the NIC.',
  },
  { attach: { vm: 'worker-2', subnet: 'storage', as: 'yours' } },
  { untilConfigured: 'yours' },
  { pause: 'Press Enter to inspect the node' },
  { say: 'The NIC in the kernel of the node, with its address and MTU.' },
  { run: { node: 'worker-2', line: addresses } },
  {
    say: 'Traffic from its address leaves through it, by a rule and a routing table. The default route is unchanged.',
  },
  { run: { node: 'worker-2', line: 'ip rule' } },
  { run: { node: 'worker-2', line: 'ip route' } },
  { say: 'These files restore the NIC after a reboot. The file of the primary NIC is unchanged.' },
  { run: { node: 'worker-2', line: 'ls /etc/netplan' } },
  { pause: 'Press Enter to reboot the node' },
  { say: 'The controller is stopped. The node restores its NICs from its own files.' },
  { fault: 'stopped-controller' },
  { reboot: 'worker-2' },
  { run: { node: 'worker-2', line: addresses } },
  { end: 'stopped-controller' },
  { pause: 'Press Enter to inject a fault' },
  {
    say: 'Neutron answers 500 to every request. The operator reports the error, retries and removes nothing. A port that you attach now waits until Neutron works again.',
  },
  { fault: 'failing-neutron' },
  { attach: { vm: 'worker-3', subnet: 'backup', as: 'waiting' } },
  { run: { node: 'worker-3', line: addresses } },
  { end: 'failing-neutron' },
  { untilConfigured: 'waiting' },
  { pause: 'Press Enter to detach both ports' },
  { say: 'MultiNIC removes both NICs from the kernel, the files and the cluster.' },
  { detach: 'yours' },
  { detach: 'waiting' },
  { show: 'status' },
  {
    say: 'The tour is complete. "make up" starts a sandbox that keeps running, and "multinic sandbox fault" lists faults. For more, read docs/guides/sandbox.md.',
  },
]
