/**
 * Commands of the documents that no test of the documents runs, or not exactly as the page shows them, each with the reason.
 * Their files, targets and options are checked like those of all other commands. test/docs/blocks.test.ts fails if an
 * entry is no longer needed.
 */
import type { Environment } from './blocks.ts'

export interface UntestedCommands {
  /** First words of the commands, in blocks with the tag `elsewhere`. */
  begin: readonly string[]
  /** Why, and the test that covers them. */
  reason: string
}

export const untestedCommands: readonly UntestedCommands[] = [
  {
    begin: ['multinic audit'],
    reason: 'Needs an installation in which somebody asked for something. Covered by src/cli/audit.test.ts.',
  },
  {
    begin: ['kubectl -n NAMESPACE patch osc NAME'],
    reason: 'Needs an object whose deletion waits. Covered by src/operator/sync/deletion.test.ts.',
  },
  {
    begin: ['make images', 'ARCH=arm64 make images'],
    reason:
      'Takes minutes, and downloads packages for another architecture. Covered by test/system/images.e2e.test.ts.',
  },
  {
    begin: ['docker build'],
    reason: 'Needs a container engine. test/system/images.e2e.test.ts builds the Dockerfiles with buildah.',
  },
  { begin: ['./images-load.sh'], reason: 'Runs on a node. Covered by test/system/images.e2e.test.ts.' },
  {
    begin: ['sha256sum --check'],
    reason: 'Runs on a node with a complete release. Covered by test/system/images.e2e.test.ts.',
  },
  {
    begin: ['tar -xzf multinic-cli', 'sudo install multinic-cli', 'kubectl multinic doctor'],
    reason:
      'Installs files into the system. test/docs/cluster.e2e.test.ts and test/packaging/release.test.ts run them from another directory.',
  },
  {
    begin: ['npm version', 'make generate', 'make release'],
    reason:
      'Changes the working tree and takes minutes. Covered by test/system/images.e2e.test.ts and test/packaging/release.test.ts.',
  },
  { begin: ['skopeo copy'], reason: 'Needs a registry of the reader.' },
  {
    begin: ['multinic status --context'],
    reason:
      'Needs a kubeconfig with two contexts. Covered by src/cli/cluster-inventory.test.ts and src/cli/watch.test.ts.',
  },
  {
    begin: ['multinic renumber'],
    reason:
      'Needs nodes whose interfaces have other indexes than their subnets. Covered by test/system/renumber.root.test.ts and src/cli/renumber.test.ts.',
  },
  {
    begin: ['multinic migrate'],
    reason: 'Needs a cluster with legacy objects. test/system/migration.ts runs these commands in one.',
  },
  {
    begin: ['multinic doctor'],
    reason:
      'Needs Multus and a Pod without an address pair. src/cli/doctor/pod-addresses.test.ts compares its output with the page.',
  },
  {
    begin: ['rabbitmqctl'],
    reason: 'Needs the broker of a cloud. test/system/events.e2e.test.ts grants the same rights on a real broker.',
  },
  {
    begin: ['sudo ./bin/multinic sandbox up --rabbitmq'],
    reason: 'Needs a broker. test/system/events.e2e.test.ts runs the sandbox with a real one.',
  },
  {
    begin: ['make bench', 'make figures'],
    reason:
      'Takes minutes on an idle machine and changes the working tree. scripts/figures-page.test.ts renders a page.',
  },
  {
    begin: ['make mutate'],
    reason: 'Takes minutes, and downloads a tool. scripts/mutation.test.ts tests its parts.',
  },
  {
    begin: ['make guard'],
    reason: 'Measures for minutes on an idle machine. scripts/guard-verdict.test.ts tests its verdict.',
  },
  {
    begin: ['make vm'],
    reason: 'Boots dozens of virtual machines. .ci/run runs five of the cases.',
  },
  {
    begin: ['make judge'],
    reason: 'Takes minutes. test/judge/judge.test.ts runs it with few operations.',
  },
  {
    begin: ['make flaky', 'make nightly'],
    reason: 'Takes hours. scripts/changed-tests.test.ts and scripts/nightly.test.ts test what they run.',
  },
  {
    begin: ['id=$(kubectl get mnnc', 'kubectl logs'],
    reason: 'Needs logs of components that run as Pods. Tests of each component check the trace ID on every call.',
  },
  {
    begin: ['./bin/multinic sandbox up --nodes 500'],
    reason: 'Takes a minute of CPU time. Tests of the sandbox run fewer simulated nodes.',
  },
  {
    begin: ['sudo make up NODES=vm'],
    reason: 'Boots a virtual machine. test/vm/chain.vm.test.ts runs the same sandbox with `make vm`.',
  },
  {
    begin: ['kubelet --register-with-taints'],
    reason: 'Configures a node. test/system/pods.e2e.test.ts registers a real one with the taint.',
  },
  { begin: ['openstack port set'], reason: 'Needs a port of the reader.' },
  {
    begin: ['source <(multinic completion', 'multinic completion fish'],
    reason: 'Belongs into files of three shells. src/cli/completion.test.ts loads the script in each of them.',
  },
]

/** Words of sandbox blocks that the test replaces with values of its sandbox, and what they stand for. */
export const replacedInSandbox = {
  NAME: 'name of the object of the reader',
  NODE: 'name of a node of the reader',
  'osc storage': 'example object of the page; the one of the sandbox has another name',
  'multinic-system/storage': 'example object of the page; the one of the sandbox has another name',
  '10.10.0.7': 'example address; ports of the sandbox have others',
  '--at 24h': 'the sandbox is younger than a day',
  '--at 2026-01-31T10:00:00Z': 'the sandbox is younger',
  'http://127.0.0.1:18081': 'the sandbox chooses the port of its inventory',
  'http://viola-api': 'the sandbox has no DNS',
  'node-configs/worker-1 ':
    'the operator would deliver a removed worker-1 again; the test removes a node config of its own',
  'cluster-a': 'example provider; the one of the sandbox has another ID',
} as const

export interface AdaptedCommand {
  environment: Environment
  /** Part of the command on the page. */
  written: string
  /** What the test does instead, and why. */
  reason: string
}

export const adaptedCommands: readonly AdaptedCommand[] = [
  { environment: 'sandbox', written: ' -w', reason: 'A watch must still run after 5 s; then the test ends it.' },
  {
    environment: 'sandbox',
    written: 'curl -sN',
    reason: 'A stream must still be open after 5 s; then the test ends it.',
  },
  { environment: 'cluster', written: ' -w', reason: 'A watch must still run after 5 s; then the test ends it.' },
  {
    environment: 'cluster',
    written: 'port-forward',
    reason: 'No Pod runs in this cluster: the test checks that the Service has the port. The quick start forwards one.',
  },
  {
    environment: 'quick-start',
    written: 'port-forward',
    reason: 'Runs until the dashboard has answered.',
  },
  {
    environment: 'quick-start',
    written: 'helm install',
    reason: 'The cluster has neither Pod network nor DNS: more values put the components on the host network.',
  },
  { environment: 'node', written: '…', reason: 'The reader enters the interfaces; the test has none.' },
  { environment: 'node', written: 'MAC.json', reason: 'The reader enters the MAC address of the NIC.' },
]
