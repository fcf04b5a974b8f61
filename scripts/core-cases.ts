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

/** Of the files against real servers that run for many minutes: the tests with these names, or none. All other files run whole. */
const ofServers: Readonly<Record<string, string | undefined>> = {
  'src/agent/killed.e2e.test.ts': '^a run in which two NICs exchange their indexes',
  'test/chaos/chaos.e2e.test.ts': '^chaos with seed 2:',
  'test/packaging/node-loss.e2e.test.ts': undefined,
  'test/packaging/replicas.e2e.test.ts':
    '^(kill -9 of each operator|PostgreSQL restarts|every port was configured once)',
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
