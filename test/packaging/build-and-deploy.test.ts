/** The script says what it would do, and does nothing on a mistake. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from '../rigs/process.ts'

const script = join(import.meta.dirname, '../../scripts/build-and-deploy.sh')
const deploy = (...args: string[]) => run(script, args, { check: false })

for (const type of ['dev', 'staging', 'production', 'mgmt'])
  test(`a dry run of ${type} names its values file and runs nothing`, async () => {
    const { code, stdout } = await deploy(
      '--type',
      type,
      '--dry-run',
      '--tag',
      '9.9.9',
      '--registry',
      'registry.local/net/',
    )
    assert.equal(code, 0)
    assert.match(stdout, /\$ make .* images IMAGE_TAG=9\.9\.9/)
    assert.match(stdout, new RegExp(`\\$ helm upgrade --install multinic-agent .*/values-${type}\\.yaml`))
    assert.match(stdout, /controller\.image\.tag=9\.9\.9 .*global\.imageRegistry=registry\.local\/net /)
  })

const mistakes: Record<string, [args: string[], words: RegExp]> = {
  'no type': [['--dry-run'], /--type is missing: dev, staging, production or mgmt/],
  'a type that does not exist': [['--type', 'prod'], /--type prod: must be dev/],
  'an option that does not exist': [['--type', 'dev', '--password', 'x'], /there is no option --password/],
  'an option without its value': [['--type'], /--type needs a value/],
}
for (const [name, [args, words]] of Object.entries(mistakes))
  test(`${name} is told, and nothing is done`, async () => {
    const { code, stdout, stderr } = await deploy(...args)
    assert.equal(code, 2)
    assert.match(stderr, words)
    assert.equal(stdout, '')
  })

test('--help shows every option', async () => {
  const { stdout } = await deploy('--help')
  for (const option of [
    '--type',
    '--registry',
    '--nodes',
    '--tag',
    '--namespace',
    '--values',
    '--skip-build',
    '--dry-run',
  ])
    assert.ok(stdout.includes(`  ${option} `), option)
})
