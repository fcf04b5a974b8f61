/**
 * `make e2e`: the tests against real servers (*.e2e.test.ts), each file in its own namespaces, two at a time.
 * `make vm` (argument vm): the tests on virtual machines (*.vm.test.ts), two at a time.
 *
 * ONLY=word runs the files with that word in their path, CASES=core those of CI. Installs or builds missing programs first.
 */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable, removeStaleIsolations, runIsolated } from '../test/rigs/isolation.ts'
import { runWithin } from '../test/rigs/process.ts'
import { guestKinds } from '../test/rigs/vm/kinds.ts'
import { coreCases } from './core-cases.ts'
import { rootFor } from './images.ts'
import { storeKubernetesRuns } from './kubernetes-page.ts'
import { againstServers, onGuests, runTests } from './run-tests.ts'
import { filesLoadedBy, root, slowFirst, testFiles } from './test-files.ts'
import { finish, none, type Totals } from './totals.ts'

/** The groups of provision.sh, and the import by which a test file or its fixtures show that they need one. */
const provisionGroups = {
  daemons: /rigs\/host\/(boot|network-manager|dhcp)\./,
  kubernetes: /rigs\/kubernetes\/(rig|binaries)\.|rigs\/vm\/kubelet\./,
  cni: /rigs\/cni\/rig\./,
  keepalived: /rigs\/keepalived\/rig\./,
  ovn: /rigs\/ovn\/rig\./,
  openstack: /rigs\/openstack\/rig\./,
  rabbitmq: /rigs\/rabbitmq\/rig\.|rabbitmq: 'local'/,
  postgres: /rigs\/postgres\/rig\./,
  helm: /rigs\/helm\/rig\./,
  'oauth2-proxy': /rigs\/oauth2-proxy\/rig\./,
  baseline: /rigs\/baseline\/rig\./,
  prometheus: /rigs\/prometheus\/rig\./,
  grafana: /rigs\/grafana\/rig\./,
  'otel-collector': /rigs\/otel-collector\/rig\./,
  images: /rigs\/buildah\./,
  browser: /rigs\/browser\/rig\./,
  emulator: /qemu-aarch64-static/,
  hypervisor: /rigs\/vm\/nova\./,
  vm: /\.vm\.test\.ts|rigs\/vm\/rig\./,
}

/** Files that run for minutes. */
const slowFiles = [
  'agent/test/killed.',
  'controller/scale.',
  'viola/real.',
  'system/broker-faults.',
  'packaging/replicas.',
  'packaging/node-loss.',
  'soak/soak.',
]

process.chdir(root)
const kind = process.argv[2] === 'vm' ? 'vm' : 'e2e'
const { ONLY, CASES } = environment()
const selected = testFiles(ONLY)[kind]
const { files, selections } = CASES === 'core' ? coreCases(kind, selected) : { files: selected, selections: {} }

const problem = files.length > 0 ? ((await isolationUnavailable()) ?? (await provision())) : undefined
if (problem) console.log(`cannot run the tests: ${problem}`)
await finish(problem ? { ...none, failed: files.length } : await runAll())

async function runAll(): Promise<Totals> {
  await removeStaleIsolations()
  console.log(`${files.length} files; each file prints its result at its end`)
  const totals = await runTests(slowFirst(files, slowFiles), {
    ...(kind === 'vm' ? onGuests : againstServers),
    selections,
  })
  const whole = files.filter(file => !(file in selections))
  if (kind === 'e2e' && totals.failed === 0) storeKubernetesRuns(whole)
  return totals
}

/** Installs what the files need, by their path and their imports. Returns the problem, or undefined. */
async function provision(): Promise<string | undefined> {
  const read = (file: string) => readFileSync(file, 'utf8')
  const isOfTests = (file: string) => file.startsWith('test/') && !file.startsWith('test/rigs/')
  const readFor = (file: string) => [file, ...filesLoadedBy(file, read).filter(isOfTests)]
  const texts = [...new Set(files.flatMap(readFor))].map(file => `${file} ${read(file)}`)
  const groups = Object.entries(provisionGroups)
    .filter(([, mark]) => texts.some(text => mark.test(text)))
    .map(([group]) => group)
  const guests = guestsIn(files.map(read).join())
  for (const group of groups) {
    const more = group === 'vm' ? guests : []
    // A new machine has to build Kubernetes.
    const { code } = await runWithin([join(root, 'scripts/provision.sh'), group, ...more], { within: 60 * 60_000 })
    if (code !== 0) return `provision.sh ${group} failed (see above)`
  }
  if (guests.includes('arm64') || groups.includes('emulator')) await rootFor('arm64')
  if (groups.includes('openstack')) await prepareCloud()
  return undefined
}

/** The images that the files name: tests have no network in which they could be built. */
function guestsIn(text: string): string[] {
  const kinds = globSync('*.sh', { cwd: join(root, 'test/rigs/vm/image') }).map(file => basename(file, '.sh'))
  const core: readonly string[] = text.includes('guestKinds') ? guestKinds : []
  return kinds.filter(kind => core.includes(kind) || text.includes(`'${kind}'`))
}

/** Takes minutes; the tests start from a copy of its state. If it fails, only the OpenStack tests fail, with the cause. */
async function prepareCloud(): Promise<void> {
  await runIsolated([process.execPath, 'test/rigs/openstack/prepare.ts'], { within: 20 * 60_000 })
}
