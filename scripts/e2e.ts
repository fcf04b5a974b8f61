/**
 * `make e2e`: the tests on real parts (*.e2e.test.ts), each file in a world of its own, two at a time.
 *
 * ONLY=word runs the files with that word in their path. What is missing on the machine is installed or built first.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { environment } from '../src/runtime/env.ts'
import { isolationUnavailable, removeStaleIsolations, runIsolated } from '../test/rigs/isolation.ts'
import { bounded } from '../test/rigs/process.ts'
import { onRealParts, runTests } from './run-tests.ts'
import { root, testFiles } from './test-files.ts'
import { close, none, type Totals } from './totals.ts'

/** The groups of provision.sh, and how a test file shows that it needs one. */
const realParts = {
  daemons: /rigs\/host\/(boot|network-manager)\./,
  kubernetes: /rigs\/kubernetes\/(rig|binaries)\./,
  openstack: /rigs\/openstack\/rig\./,
  rabbitmq: /rigs\/rabbitmq\/rig\.|rabbitmq: 'local'/,
  postgres: /rigs\/postgres\/rig\./,
  helm: /rigs\/helm\/rig\./,
  prometheus: /rigs\/prometheus\/rig\./,
  images: /rigs\/buildah\./,
  browser: /rigs\/browser\/rig\./,
}

/** Minutes each. */
const longest = ['agent/killed.', 'controller/scale.', 'viola/real.', 'system/scenarios.']

process.chdir(root)
const files = testFiles(environment()['ONLY']).e2e

const refused = files.length > 0 ? ((await isolationUnavailable()) ?? (await provision())) : undefined
if (refused) console.log(`nothing of this can run: ${refused}`)
await close(refused ? { ...none, failed: files.length } : await runAll())

async function runAll(): Promise<Totals> {
  await removeStaleIsolations()
  // Whoever begins with the longest does not end alone with one; among the others the walks are the longer ones.
  const isLong = (file: string) => longest.some(each => file.includes(each))
  const longestFirst = [...files.filter(isLong), ...files.toReversed().filter(file => !isLong(file))]
  console.log(`${files.length} files, each told of when it has ended`)
  return runTests(longestFirst, onRealParts)
}

/** What is in the way, or undefined. A file says by its place or its imports which real parts it needs. */
async function provision(): Promise<string | undefined> {
  const texts = await Promise.all(files.map(async file => `${file} ${await readFile(file, 'utf8')}`))
  const rigs = Object.entries(realParts).flatMap(([rig, mark]) => (texts.some(text => mark.test(text)) ? [rig] : []))
  for (const rig of rigs) {
    // On a new machine Kubernetes is built.
    const { code } = await bounded([join(root, 'scripts/provision.sh'), rig], { within: 60 * 60_000 })
    if (code !== 0) return 'the real parts are not on this machine (see above)'
  }
  if (rigs.includes('openstack')) await firstCloud()
  return undefined
}

/** It takes minutes; the tests start from its state. Where it fails, only the tests of the cloud do, and say why. */
async function firstCloud(): Promise<void> {
  await runIsolated([process.execPath, 'test/rigs/openstack/prepare.ts'], { within: 20 * 60_000 })
}
