/**
 * The images of all parts for arm64: each starts once, with user-mode emulation of the processor and a real API server.
 */
import assert from 'node:assert/strict'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { buildRoot, recipes } from '../../scripts/image.ts'
import { rootFor } from '../../scripts/images.ts'
import { type ControlPlane, startControlPlane } from '../rigs/kubernetes/rig.ts'
import { run, startDaemon, waitForAnswer } from '../rigs/process.ts'
import { imageServices } from '../support/image-services.ts'

const architecture = 'arm64'
const emulator = '/usr/bin/qemu-aarch64-static'
const within = 5 * 60_000
const namespace = 'multinic-system'
let cp: ControlPlane

before(async () => {
  const crds = join(import.meta.dirname, '../../config/crd/bases')
  cp = await startControlPlane({ beforeManager: exec => exec('kubectl', ['apply', '-f', crds]) })
  await cp.exec('kubectl', ['create', 'namespace', namespace])
  for (const image of ['services', 'agent'] as const) await prepare(image)
})
after(async () => {
  for (const image of ['services', 'agent'] as const)
    await run('umount', [join(rootOf(image), 'proc')], { check: false })
  await cp?.close()
})

const rootOf = (image: keyof typeof recipes) => join(cp.dir, image)

/** The image as a root directory, with the emulator and what a container runtime mounts. */
async function prepare(image: keyof typeof recipes): Promise<void> {
  const root = rootOf(image)
  await buildRoot(image, root, { architecture, from: await rootFor(architecture) })
  await copyFile(emulator, join(root, 'emulator'))
  for (const directory of ['proc', 'dev', 'data', 'tmp', 'var/lib/multinic-operator'])
    await mkdir(join(root, directory), { recursive: true, mode: 0o777 })
  await run('mount', ['-t', 'proc', 'proc', join(root, 'proc')])
  await run('mknod', ['--mode=666', join(root, 'dev/null'), 'c', '1', '3'])
  const kubeconfig = await readFile(cp.kubeconfig, 'utf8')
  await writeFile(join(root, 'data/kubeconfig'), kubeconfig.replace(cp.authority.cert, '/data/ca.crt'))
  await copyFile(cp.authority.cert, join(root, 'data/ca.crt'))
  await run('chmod', ['-R', 'a+rwX', join(root, 'data'), join(root, 'var')])
}

function commandOf(image: keyof typeof recipes, args: readonly string[]): string[] {
  const user = 'user' in recipes[image] ? [`--userspec=${recipes[image].user}`] : []
  return ['chroot', ...user, rootOf(image), '/emulator', ...recipes[image].entrypoint, ...args]
}

for (const [name, args] of Object.entries(recipes.services.starts)) {
  const service = imageServices[name]
  if (!service) continue
  test(`${name} starts from its image for arm64 and answers`, async t => {
    const [program = '', ...rest] = commandOf('services', args)
    const env = {
      KUBECONFIG: '/data/kubeconfig',
      POD_NAMESPACE: namespace,
      ...recipes.services.environment,
      ...service.env,
    }
    const daemon = startDaemon(program, rest, { log: join(cp.dir, `${name}.log`), env })
    t.after(() => daemon.stop('SIGKILL'))
    const answer = () =>
      request(`http://127.0.0.1:${service.port}/healthz`).then(({ statusCode }) => assert.equal(statusCode, 200))
    await waitForAnswer(name, daemon, answer, within)
  })
}

test('the CLI runs from its image for arm64', async () => {
  const [program = '', ...rest] = commandOf('services', ['--help'])
  assert.match((await run(program, rest)).stdout, /Usage: multinic/)
})

test('the agent starts from its image for arm64, and reports that it has no input', async () => {
  const [program = '', ...rest] = commandOf('agent', [])
  await run(program, rest)
  assert.match(await readFile(join(rootOf('agent'), 'dev/termination-log'), 'utf8'), /MULTINIC_INPUT/)
})

test('every image is tested', () => {
  const tested = [...Object.keys(imageServices), 'multinic', 'multinic-agent']
  const images = Object.values(recipes).flatMap(({ starts }) => Object.keys(starts))
  assert.deepEqual(tested.sort(), images.sort())
})
