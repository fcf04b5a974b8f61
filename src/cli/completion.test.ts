/** The completion scripts, run by the shells themselves. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runner } from '../../test/support/cli.ts'

const bash = await runner({})('completion', 'bash')
const zsh = await runner({})('completion', 'zsh')
const fish = await runner({})('completion', 'fish')

function offered(...words: string[]): string[] {
  const typed = words.map(word => `'${word}'`).join(' ')
  const script = `${bash.out}
command() { [ "$2 $3" = 'find w' ] && printf 'kind,value,providerId,nodeName,interface\\r\\nnode,w1,p,w1,\\r\\nvm,w9,p,w1,\\r\\n'; }
COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _multinic; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean)
}

const cases: Record<string, [typed: string[], offers: string[]]> = {
  'a command by its beginning': [['multinic', 'st'], ['status']],
  'the forms of a command': [
    ['multinic', 'check', '-o', ''],
    ['wide', 'json', 'yaml', 'csv'],
  ],
  'an option by its beginning': [['multinic', 'plan', '--op'], ['--operator']],
  'a shell': [['multinic', 'completion', 'z'], ['zsh']],
  'nodes by their beginning': [['multinic', 'why', 'w'], ['w1']],
  'options of why': [
    ['multinic', 'why', 'w1', 'multinic1', '--t'],
    ['--token-file', '--to'],
  ],
  'nothing for the address of a packet': [['multinic', 'why', 'w1', 'multinic1', '--to', ''], []],
  'nothing for an address': [['multinic', 'check', '--inventory', ''], []],
  'files for a file': [
    ['multinic', 'plan', '-f', '/etc/host'],
    ['/etc/hostname', '/etc/hosts'],
  ],
}
for (const [name, [typed, offers]] of Object.entries(cases))
  test(`bash offers ${name}`, () => {
    const found = offered(...typed)
    if (offers.some(each => each.startsWith('/'))) for (const each of offers) assert.ok(found.includes(each), each)
    else assert.deepEqual(found, offers)
  })

test('zsh reads its script', { skip: spawnSync('zsh', ['--version']).error && 'zsh is not installed' }, () => {
  const script = `${zsh.out.replace(/^if \[\[.*$/m, '')}
compadd() { print -l -- "\${@[2,-1]}" }
words=(multinic check -o ''); CURRENT=4; _multinic`
  assert.equal(execFileSync('zsh', ['-fc', script], { encoding: 'utf8' }), 'wide\njson\nyaml\ncsv\n')
})

test('fish reads its script', { skip: spawnSync('fish', ['--version']).error && 'fish is not installed' }, async t => {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-fish-'))
  t.after(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, 'multinic'), "#!/bin/sh\nprintf 'node,w1,p,w1,\\r\\n'\n", { mode: 0o755 })
  const asked = ['multinic hist', 'kubectl-multinic completion z', 'multinic why w', 'multinic plan -f /etc/hostn']
  const script = [`set PATH ${dir} $PATH`, fish.out, ...asked.map(line => `complete --do-complete '${line}'`)].join(
    '\n',
  )
  const offered = execFileSync('fish', ['--no-config', '--command', script], { encoding: 'utf8' })
  const words = offered.split('\n').map(line => line.split('\t', 1)[0])
  assert.deepEqual(words, ['history', 'zsh', 'w1', '/etc/hostname', ''])
})
