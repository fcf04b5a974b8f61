/** The tables of the security guide name every resource that the rights of a component cover, and no other one. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'

interface Rendered {
  kind: string
  metadata: { name: string }
  rules?: { resources: string[] }[]
  subjects?: { name: string }[]
  roleRef?: { name: string }
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const rendered = parseAllDocuments(read('test/golden/helm/everything.yaml')).flatMap(
  document => (document.toJSON() as Rendered | null) ?? [],
)

/** Rows that begin with the component, in the table of rights and in the table of stolen tokens. */
const accounts = { operator: 'multinic-operator', Viola: 'viola-api', controller: 'multinic-agent' }

const words: Record<string, RegExp> = {
  openstackconfigs: /OpenstackConfig/,
  secrets: /Secret/,
  configmaps: /ConfigMap/,
  events: /Event/,
  leases: /Lease/,
  providers: /`providers`/,
  multinicnodeconfigs: /MultiNicNodeConfig/,
  multinicbizconfigs: /MultiNicBizConfig/,
  jobs: /\bJob/,
  pods: /\bPod/,
  nodes: /\bNode(?!Config)/,
  namespaces: /\bNamespace/,
  servicecidrs: /ServiceCIDR/,
  'network-attachment-definitions': /NetworkAttachmentDefinition/,
  'system:auth-delegator': /`system:auth-delegator`/,
}

/** Names in `words`, sorted. */
function resourcesOf(account: string): string[] {
  const roles = rendered
    .filter(({ kind, subjects = [] }) => kind.endsWith('Binding') && subjects.some(({ name }) => name === account))
    .map(({ roleRef }) => roleRef?.name ?? '')
  const rules = rendered.filter(({ kind, metadata }) => kind.endsWith('Role') && roles.includes(metadata.name))
  const resources = rules.flatMap(role => (role.rules ?? []).flatMap(rule => rule.resources))
  const names = [
    ...resources.map(name => name.split('/')[0] ?? ''),
    ...roles.filter(name => name.startsWith('system:')),
  ]
  return [...new Set(names)].sort()
}

function rowsOf(table: string, component: string): string {
  const [rows = ''] = table.split('\n\n')
  const cells = rows.split('\n').map(line => line.slice(2).split(' | '))
  return cells.flatMap(([who = '', can = '']) => (new RegExp(`\\b${component}\\b`).test(who) ? [can] : [])).join(' ')
}

const named = (text: string) =>
  Object.keys(words)
    .filter(name => words[name]?.test(text.replaceAll(/\]\([^)]*\)/g, ']')))
    .sort()

for (const page of ['docs/guides/security.md', 'docs/guides/security.ko.md']) {
  const [, rights = '', stolen = ''] = read(page).split(/\n\| (?:component|token of|구성 요소|토큰의 주인) \|/)
  for (const [component, account] of Object.entries(accounts)) {
    const expected = resourcesOf(account)
    // The settings of the controller with more rights have rows of their own in the second table only.
    const optional = ['network-attachment-definitions']
    test(`${page} names all resources that the rights of ${component} cover`, () => {
      assert.ok(expected.length >= 3, `${expected}`)
      assert.deepEqual(
        named(rowsOf(rights, component)),
        expected.filter(name => !optional.includes(name)),
      )
    })

    test(`${page} names all resources that a stolen token of ${component} reaches`, () => {
      assert.deepEqual(named(rowsOf(stolen, component)), expected)
    })
  }
}
