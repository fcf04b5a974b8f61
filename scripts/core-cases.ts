/**
 * What CI runs of the tests that take longest (CASES=core). `make nightly` runs all of them.
 */

/** On virtual machines: these files, and in each the tests with these names. */
const ofVirtualMachines: Readonly<Record<string, string>> = {
  'test/vm/three-nics.vm.test.ts': '^netplan:',
  'test/vm/hot-plug.vm.test.ts': '^(netplan|networkmanager):',
  'test/vm/takeover.vm.test.ts': '^networkmanager:',
  'test/vm/power-cut.vm.test.ts': '^netplan: .*1 each',
}

/** Of some files against real servers that take long: the tests with these names, or none. All other files run whole. */
const ofServers: Readonly<Record<string, string | undefined>> = {
  'src/agent/killed.e2e.test.ts': '^a run in which two NICs exchange their indexes',
  'src/agent/take-over-killed.e2e.test.ts': undefined,
  'src/controller/scale.e2e.test.ts': '^killing the leader',
  'src/inventory/postgres.e2e.test.ts': '^(?!after a failover)',
  'src/viola/real.e2e.test.ts': '^(?!a POST of 500 nodes|a real API server accepts every body)',
  'test/chaos/chaos.e2e.test.ts': undefined,
  'test/chaos/truth.e2e.test.ts': undefined,
  'test/hostile/hostile-kube.e2e.test.ts': undefined,
  'test/packaging/build-and-deploy.e2e.test.ts': undefined,
  'test/packaging/node-loss.e2e.test.ts': undefined,
  'test/packaging/replicas.e2e.test.ts':
    '^(kill -9 of each operator|PostgreSQL restarts|every port was configured once)',
  'test/rigs/kubernetes/pod-network.e2e.test.ts': undefined,
  'test/system/arm64-images.e2e.test.ts': undefined,
  'test/system/event-faults.e2e.test.ts': undefined,
  'test/system/images.e2e.test.ts': '^(?!the Dockerfiles|a second build)',
  'test/system/pod-errors.e2e.test.ts': 'an image that cannot be pulled',
  'test/system/real-nodes.e2e.test.ts': '^(?!the tables name every mount|the agent needs everything)',
  'test/system/sandbox-kubelets.e2e.test.ts': undefined,
}

export interface CoreCases {
  files: string[]
  /** By file, a pattern of the names of its tests. */
  names: Record<string, string>
}

export function coreCases(kind: 'e2e' | 'vm', all: readonly string[]): CoreCases {
  const patterns = kind === 'vm' ? ofVirtualMachines : ofServers
  const files = all.filter(file => (kind === 'e2e' && !(file in patterns)) || patterns[file] !== undefined)
  return { files, names: Object.fromEntries(files.flatMap(file => (patterns[file] ? [[file, patterns[file]]] : []))) }
}
