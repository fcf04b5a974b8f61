/** What people get wrong, and what they are told: what is wrong and what to do, always with code 2. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runner } from '../../test/support/cli.ts'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'

let dir: string
let stub: HttpStub
let nobody: string

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-cli-failures-'))
  await writeFile(join(dir, 'token'), 'two words')
  await writeFile(join(dir, 'good-token'), 'secret-token')
  await writeFile(join(dir, 'pod.yaml'), 'kind: Pod')
  await writeFile(join(dir, 'broken.yaml'), 'a: [')
  await writeFile(join(dir, 'homeless.yaml'), 'kind: OpenstackConfig\nmetadata: {name: x}')
  await writeFile(join(dir, 'here.yaml'), 'kind: OpenstackConfig\nmetadata: {name: x, namespace: here}')
  stub = await serve(({ path, headers }, response) => {
    if (path.startsWith('/web/')) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    else if (path.startsWith('/moved/')) response.writeHead(302, { location: `${stub.url}/elsewhere` }).end()
    else if (path.startsWith('/ill/'))
      json(response, 500, { type: 'about:blank', title: 'x', status: 500, detail: 'the server failed' })
    else if (path.startsWith('/refused/'))
      json(response, 400, {
        type: 'about:blank',
        title: 'x',
        status: 400,
        detail: 'this is not an OpenstackConfig',
        errors: [{ path: 'spec.vmNames', message: 'needed' }],
      })
    else if (path.startsWith('/empty/')) json(response, 200, [])
    else json(response, 200, { secret: headers.authorization })
  })
  const gone = await serve(() => {})
  nobody = gone.url
  await gone.close()
})
after(async () => {
  await stub.close()
  await rm(dir, { recursive: true })
})

type Case = [words: () => string[], says: RegExp]
const cases: Record<string, Case> = {
  'no address': [() => ['check'], /address of the inventory is not known\nSay where .* port-forward/s],
  'an address that is none': [
    () => ['check', '--inventory', 'localhost'],
    /--inventory: "localhost" is not an address/,
  ],
  'an address with a password': [() => ['check', '--inventory', 'http://a:b@x'], /is not an address/],
  'nobody there': [
    () => ['check', '--inventory', nobody],
    /does not answer at .*: nobody listens there\nCheck .*--inventory/,
  ],
  'a web page': [
    () => ['check', '--inventory', `${stub.url}/web`],
    /is not a MultiNIC inventory that this version knows/,
  ],
  'a redirect': [() => ['check', '--inventory', `${stub.url}/moved`], /answers with 302, not as a MultiNIC inventory/],
  'a server that fails': [
    () => ['check', '--inventory', `${stub.url}/ill`],
    /the inventory answers: the server failed/,
  ],
  'a token file that is not there': [
    () => ['check', '--inventory', nobody, '--token-file', join(dir, 'none')],
    /the token file cannot be read/,
  ],
  'a token file with more than a token': [
    () => ['check', '--inventory', nobody, '--token-file', join(dir, 'token')],
    /must hold one token and nothing else/,
  ],
  'a time that is none': [
    () => ['find', 'x', '--inventory', nobody, '--at', 'noon'],
    /"noon" is no time; write an RFC 3339/,
  ],
  'a form that is none': [
    () => ['check', '-o', 'xml'],
    /Allowed choices are wide, json, yaml, csv.*--help tells more/s,
  ],
  'an argument too few': [() => ['why'], /missing required argument 'what'/],
  'a limit that is none': [() => ['find', 'x', '--limit', '0'], /whole number from 1 to 1000/],
  'a shell that nobody knows': [() => ['completion', 'tcsh'], /Allowed choices are bash, zsh/],
  'a plan of nothing': [() => ['plan'], /required option '-f, --filename <file>'/],
  'a plan of a file that is not there': [
    () => ['plan', '--inventory', nobody, '-f', join(dir, 'none')],
    /none cannot be read/,
  ],
  'a plan of a Pod': [() => ['plan', '--inventory', nobody, '-f', join(dir, 'pod.yaml')], /holds no OpenstackConfig/],
  'a plan of broken YAML': [
    () => ['plan', '--inventory', nobody, '-f', join(dir, 'broken.yaml')],
    /neither YAML nor JSON/,
  ],
  'a plan without a namespace': [
    () => ['plan', '--inventory', nobody, '-f', join(dir, 'homeless.yaml')],
    /add metadata.namespace or give --namespace/,
  ],
  'a plan for another namespace': [
    () => ['plan', '--inventory', nobody, '-f', join(dir, 'here.yaml'), '-n', 'there'],
    /is of namespace here, not of there/,
  ],
  'a plan that the operator refuses': [
    () => ['plan', '--inventory', `${stub.url}/refused`, '-f', join(dir, 'here.yaml')],
    /this is not an OpenstackConfig\n {2}spec.vmNames: needed/,
  ],
  'a kubeconfig that is not there': [
    () => ['status', '--inventory', `${stub.url}/empty`, '--kubeconfig', join(dir, 'none')],
    /reading the OpenstackConfigs: kubeconfig .*none/,
  ],
}

for (const [name, [words, says]] of Object.entries(cases))
  test(`${name} is told`, async () => {
    const { code, out, error } = await runner({})(...words())
    assert.equal(code, 2, error)
    assert.equal(out, '')
    assert.match(error, says)
  })

test('a token goes to the named address only, and into no message', async () => {
  const token = join(dir, 'good-token')
  const moved = await runner({})('check', '--inventory', `${stub.url}/moved`, '--token-file', token)
  assert.equal(moved.code, 2)
  assert.ok(stub.asked.every(({ path }) => path !== '/elsewhere'))
  const strange = await runner({})('check', '--inventory', `${stub.url}/strange`, '--token-file', token)
  assert.doesNotMatch(strange.error + moved.error, /secret-token/)
  assert.equal(stub.asked.at(-1)?.headers.authorization, 'Bearer secret-token')
})

test('help is an answer', async () => {
  const { code, out } = await runner({})('check', '--help')
  assert.equal(code, 0)
  assert.match(out, /^Usage: multinic check \[options\]/)
})
