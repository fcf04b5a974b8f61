/** Mistakes of users: the message says what is wrong and what to do, with exit code 2. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runner } from '../../test/support/cli.ts'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'

let dir: string
let stub: HttpStub
let closed: string

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
  closed = gone.url
  await gone.close()
})
after(async () => {
  await stub.close()
  await rm(dir, { recursive: true })
})

type Case = [words: () => string[], says: RegExp]
const cases: Record<string, Case> = {
  'neither a URL nor a kubeconfig': [
    () => ['check', '--kubeconfig', join(dir, 'none')],
    /the inventory: cannot load the kubeconfig: .*\nOr set the URL with --inventory URL/s,
  ],
  'an invalid URL': [() => ['check', '--inventory', 'localhost'], /--inventory: "localhost" is not a URL/],
  'a URL with a password': [() => ['check', '--inventory', 'http://a:b@x'], /is not a URL/],
  'a closed port': [
    () => ['check', '--inventory', closed],
    /cannot reach the inventory at .*: connection refused\nCheck .*--inventory/,
  ],
  'HTTPS on a port of HTTP': [
    () => ['check', '--inventory', stub.url.replace('http:', 'https:')],
    /cannot reach the inventory at https.*: this port speaks HTTP, not HTTPS; use http:\/\/\n/,
  ],
  'a web page': [
    () => ['check', '--inventory', `${stub.url}/web`],
    /does not respond like a MultiNIC inventory of this version/,
  ],
  'a redirect': [
    () => ['check', '--inventory', `${stub.url}/moved`],
    /responds with HTTP 302, unlike a MultiNIC inventory/,
  ],
  'a server that fails': [() => ['check', '--inventory', `${stub.url}/ill`], /the inventory responds: /],
  'a token file that is not there': [
    () => ['check', '--inventory', closed, '--token-file', join(dir, 'none')],
    /cannot read the token file/,
  ],
  'a token file with more than a token': [
    () => ['check', '--inventory', closed, '--token-file', join(dir, 'token')],
    /must contain one token and nothing else/,
  ],
  'a time that is none': [
    () => ['find', 'x', '--inventory', closed, '--at', 'noon'],
    /"noon" is not a time; use an RFC 3339/,
  ],
  'a form that is none': [
    () => ['check', '-o', 'xml'],
    /Allowed choices are wide, json, yaml, csv.*--help for details/s,
  ],
  'an argument too few': [() => ['why'], /missing required argument 'what'/],
  'an invalid limit': [() => ['find', 'x', '--limit', '0'], /integer from 1 to 1000/],
  'an unknown shell': [() => ['completion', 'tcsh'], /Allowed choices are bash, zsh/],
  'a plan of nothing': [() => ['plan'], /required option '-f, --filename <file>'/],
  'a plan of a file that is not there': [
    () => ['plan', '--inventory', closed, '-f', join(dir, 'none')],
    /cannot read .*none/,
  ],
  'a plan of a Pod': [
    () => ['plan', '--inventory', closed, '-f', join(dir, 'pod.yaml')],
    /contains no OpenstackConfig/,
  ],
  'a plan of broken YAML': [
    () => ['plan', '--inventory', closed, '-f', join(dir, 'broken.yaml')],
    /neither YAML nor JSON/,
  ],
  'a plan without a namespace': [
    () => ['plan', '--inventory', closed, '-f', join(dir, 'homeless.yaml')],
    /set metadata.namespace or --namespace/,
  ],
  'a plan for another namespace': [
    () => ['plan', '--inventory', closed, '-f', join(dir, 'here.yaml'), '-n', 'there'],
    /is in namespace here, not in there/,
  ],
  'a plan that the operator refuses': [
    () => ['plan', '--inventory', `${stub.url}/refused`, '-f', join(dir, 'here.yaml')],
    /this is not an OpenstackConfig\n {2}spec.vmNames: needed/,
  ],
  'a kubeconfig that is not there': [
    () => ['status', '--inventory', `${stub.url}/empty`, '--kubeconfig', join(dir, 'none')],
    /cannot read OpenstackConfigs: kubeconfig .*none/,
  ],
}

for (const [name, [words, says]] of Object.entries(cases))
  test(`${name} is reported`, async () => {
    const { code, out, error } = await runner({})(...words())
    assert.equal(code, 2, error)
    assert.equal(out, '')
    assert.match(error, says)
  })

test('the token is sent to the given URL only, and appears in no message', async () => {
  const token = join(dir, 'good-token')
  const moved = await runner({})('check', '--inventory', `${stub.url}/moved`, '--token-file', token)
  assert.equal(moved.code, 2)
  assert.ok(stub.requests.every(({ path }) => path !== '/elsewhere'))
  const strange = await runner({})('check', '--inventory', `${stub.url}/strange`, '--token-file', token)
  assert.doesNotMatch(strange.error + moved.error, /secret-token/)
  assert.equal(stub.requests.at(-1)?.headers.authorization, 'Bearer secret-token')
})

test('help exits with 0', async () => {
  const { code, out } = await runner({})('check', '--help')
  assert.equal(code, 0)
  assert.match(out, /^Usage: multinic check \[options\]/)
})
