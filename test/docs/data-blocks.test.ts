/**
 * YAML blocks of the documents: the word after the language of a fence names what reads the block, and it must be able to.
 * test/docs/cluster.e2e.test.ts sends the blocks with the tag `object` to a real API server.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { parseCloudsYaml } from '../../src/openstack/clouds-yaml.ts'
import { rulesFrom } from '../../src/operator/limits/namespace-rules.ts'
import { knownFrom } from '../../src/server/tokens.ts'
import { routingFrom } from '../../src/viola/targets/routing.ts'
import { blocksIn, pages, root } from './blocks.ts'

interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
}

const fileOf = (path: string) => parse(readFileSync(join(root, path), 'utf8'))
const values: Schema = fileOf('deployments/helm/values.schema.json')
const openstackConfig: Schema = fileOf('config/crd/bases/multinic.example.com_openstackconfigs.yaml').spec.versions[0]
  .schema.openAPIV3Schema

/**
 * Keys that the schema does not list, and values of another type. Required keys do not count: a block may show a part.
 * Unlike in JSON Schema, and as in a CRD, other properties need additionalProperties.
 */
function mistakesIn(schema: Schema, value: unknown, path: string): string[] {
  const type = Array.isArray(value) ? 'array' : typeof value
  const types = [schema.type ?? type].flat().map(name => (name === 'integer' ? 'number' : name))
  if (!types.includes(type)) return [`${path} is ${type}, not ${types.join(' or ')}`]
  if (Array.isArray(value)) return value.flatMap((one, at) => mistakesIn(schema.items ?? {}, one, `${path}[${at}]`))
  if (type !== 'object' || !value) return []
  const { properties, additionalProperties: more = !properties } = schema
  return Object.entries(value).flatMap(([key, inner]) => {
    const known = properties?.[key] ?? (more === true ? {} : more)
    return known ? mistakesIn(known, inner, `${path}.${key}`) : [`${path} has no ${key}`]
  })
}

/** What reads a block. Each throws if it cannot. */
const readers: Record<string, (text: string) => unknown> = {
  OpenstackConfig: text => assert.deepEqual(mistakesIn(openstackConfig, parse(text), 'OpenstackConfig'), []),
  values: text => assert.deepEqual(mistakesIn(values, parse(text), 'values'), []),
  routing: text =>
    assert.deepEqual(routingFrom(text, { namespace: 'multinic-system', access: { by: 'pod' } }).warnings, []),
  tokens: knownFrom,
  'namespace-rules': rulesFrom,
  clouds: text => assert.ok('cloud' in parseCloudsYaml(text)),
  object: text => assert.ok(parse(text).kind),
  /** Files and objects of other projects. */
  foreign: parse,
}

test('every YAML block names what reads it, and it can', () => {
  const blocks = pages.flatMap(page => blocksIn(page)).filter(({ language }) => language === 'yaml')
  assert.ok(blocks.length > 30)
  for (const { page, line, environment, text } of blocks) {
    const read = readers[environment] ?? assert.fail(`${page}:${line}: not one of ${Object.keys(readers).join(', ')}`)
    assert.doesNotThrow(() => read(text), `${page}:${line}`)
  }
})

const mistakes: Record<string, [reader: string, text: string, message: RegExp]> = {
  'an unknown field': ['OpenstackConfig', 'spec: { subnet: a }', /OpenstackConfig\.spec has no subnet/],
  'an unknown field of a list': ['OpenstackConfig', 'spec: { subnets: [{ nam: a }] }', /subnets\[0\] has no nam/],
  'a value of another type': ['OpenstackConfig', 'spec: { vmNames: a }', /vmNames is string, not array/],
  'an unknown value of the chart': ['values', 'controller: { replica: 2 }', /values\.controller has no replica/],
  'an unknown setting': ['values', 'viola: { settings: { PORTT: a } }', /settings has no PORTT/],
  'a token that is no hash': ['tokens', 'tokens: [{ user: a, sha256: 0f3c }]', /must be 64 hex digits/],
  'an unknown key of a rule': ['namespace-rules', 'namespaces: { a: { project: [] } }', /project/],
  'a cloud without its address': [
    'clouds',
    'clouds: { a: { auth_type: v3applicationcredential } }',
    /evaluated to a falsy/,
  ],
  'an unknown key of a target': ['routing', 'targets: [{ providerId: a, kubeConfig: b }]', /kubeConfig/],
}
for (const [name, [reader, text, message]] of Object.entries(mistakes))
  test(`${name} is found`, () => assert.throws(() => readers[reader]?.(text), message))
