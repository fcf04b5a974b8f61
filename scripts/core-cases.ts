/**
 * What CI runs of the tests that take longest (CASES=core). `make nightly` runs all of them.
 */
import type { Selection } from './run-tests.ts'

/** On virtual machines: these files, and in each the tests with these names. */
const ofVirtualMachines: Readonly<Record<string, Selection>> = {
  'test/vm/three-nics.vm.test.ts': { only: '^netplan:' },
  'test/vm/hot-plug.vm.test.ts': { only: '^(netplan|networkmanager):' },
  'test/vm/takeover.vm.test.ts': { only: '^networkmanager:' },
  'test/vm/power-cut.vm.test.ts': { only: '^netplan: .*1 each' },
}

/** Of some files against real servers that take long: some tests, or none. All other files run whole. */
const ofServers: Readonly<Record<string, Selection | undefined>> = {
  'src/agent/test/killed.e2e.test.ts': { only: '^a run in which two NICs exchange their indexes' },
  'src/agent/test/take-over-killed.e2e.test.ts': undefined,
  'src/agent/test/take-over.e2e.test.ts': { except: '^F18: a NIC that was configured beside' },
  'src/controller/many-checks.e2e.test.ts': undefined,
  'src/controller/scale.e2e.test.ts': { only: '^killing the leader' },
  'src/inventory/postgres.e2e.test.ts': { except: '^after a failover' },
  'src/viola/real.e2e.test.ts': { except: '^(a POST of 500 nodes|a real API server accepts every body)' },
  'test/attacks/browser.e2e.test.ts': { except: '^(names .* in ko-KR|a page .* of localhost)' },
  'test/chaos/chaos.e2e.test.ts': undefined,
  'test/chaos/truth.e2e.test.ts': undefined,
  'test/conformance/cloud.real.e2e.test.ts': undefined,
  'test/hostile/hostile-kube.e2e.test.ts': undefined,
  'test/hostile/hostile.e2e.test.ts': undefined,
  'test/packaging/build-and-deploy.e2e.test.ts': undefined,
  'test/packaging/node-loss.e2e.test.ts': undefined,
  'test/packaging/replicas.e2e.test.ts': {
    only: '^(kill -9 of each operator|PostgreSQL restarts|every port was configured once)',
  },
  'test/rigs/kubernetes/pod-network.e2e.test.ts': undefined,
  'test/system/arm64-images.e2e.test.ts': undefined,
  'test/system/cloud-secret.e2e.test.ts': undefined,
  'test/system/event-faults.e2e.test.ts': undefined,
  'test/system/images.e2e.test.ts': { except: '^(the Dockerfiles|a second build)' },
  'test/system/pod-errors.e2e.test.ts': undefined,
  'test/system/real-nodes.e2e.test.ts': { except: '^(the tables name every mount|the agent needs everything)' },
  'test/system/real-servers.e2e.test.ts': undefined,
  'test/system/sandbox-kubelets.e2e.test.ts': undefined,
}

export interface CoreCases {
  files: string[]
  /** By file, for files that do not run whole. */
  selections: Record<string, Selection>
}

export function coreCases(kind: 'e2e' | 'vm', all: readonly string[]): CoreCases {
  const chosen = kind === 'vm' ? ofVirtualMachines : ofServers
  const files = all.filter(file => (kind === 'e2e' && !(file in chosen)) || chosen[file] !== undefined)
  return { files, selections: Object.fromEntries(files.flatMap(file => (chosen[file] ? [[file, chosen[file]]] : []))) }
}
