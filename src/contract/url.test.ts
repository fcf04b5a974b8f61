import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostNotAllowed, isLinkLocal, urlOf, withoutSlash } from './url.ts'

const written: Record<string, string> = {
  'https://host': 'https://host',
  'https://host/': 'https://host',
  'https://host/v3///': 'https://host/v3',
  '///': '',
  '': '',
}
for (const [given, left] of Object.entries(written))
  test(`"${given}" without its slashes is "${left}"`, () => assert.equal(withoutSlash(given), left))

test('a million slashes are as good as one', () => {
  const long = `https://host${'/'.repeat(1_000_000)}`
  assert.equal(withoutSlash(long), 'https://host')
  assert.equal(withoutSlash(`${long}x`), `${long}x`)
})

/** As a URL writes its host. */
const hosts: Record<string, boolean> = {
  'http://169.254.169.254/latest': true,
  'http://2852039166/': true,
  'http://0xa9fea9fe/': true,
  'http://[::ffff:169.254.169.254]/': true,
  'http://169.254.0.0/': true,
  'http://169.255.0.0/': false,
  'http://[fe80::1]/': true,
  'http://[febf::1]/': true,
  'http://[fec0::1]/': false,
  'http://[fd00:ec2::254]/': true,
  'http://[fd20:ce::254]/': true,
  'http://[64:ff9b::169.254.169.254]/': true,
  'http://[64:ff9b::a9fe:a9fe]/': true,
  'http://168.63.129.16/': true,
  'http://100.100.100.200/': true,
  'http://192.0.0.192/': true,
  'http://[64:ff9b::10.0.0.1]/': false,
  'http://169.253.255.255/': false,
  'http://10.0.0.1/': false,
  'http://127.0.0.1/': false,
  'http://[fd00::1]/': false,
  'http://keystone.example.com/': false,
}
for (const [url, closed] of Object.entries(hosts))
  test(`${url} ${closed ? 'is' : 'is not'} link-local`, () => assert.equal(isLinkLocal(new URL(url).hostname), closed))

test('an address is one as it is, without brackets of a URL', () => {
  assert.equal(isLinkLocal('169.254.169.254'), true)
  assert.equal(isLinkLocal('fe80::1'), true)
  for (const host of ['169.254.[169.254', '169.]254.169.254', '']) assert.equal(isLinkLocal(host), false, host)
})

test('a host that is not allowed is refused with both settings that allow it', () => {
  assert.equal(
    hostNotAllowed,
    'is not in ENDPOINT_ALLOWED_HOSTS of the operator, or not in the hosts of the rule of this namespace (NAMESPACE_RULES_FILE)',
  )
})

test('what is no URL is none, and never an exception', () => {
  assert.equal(urlOf('http://10.0.0.1:5000/v3')?.hostname, '10.0.0.1')
  for (const text of ['', 'host', 'http://', 'http://a b', `http://${'X'.repeat(100_000)}`, 'http://%'])
    assert.equal(urlOf(text), undefined, text.slice(0, 40))
})
