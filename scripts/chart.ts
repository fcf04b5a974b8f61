/**
 * The generated files of the Helm chart: what it shares with the rest of the project is never written twice.
 */
import { readFileSync } from 'node:fs'
import { parseAllDocuments, stringify } from 'yaml'
import { crdOf, kinds } from '../src/contract/crd.ts'
import { chartValues, type Group, type Leaf } from './chart-values.ts'

const chart = 'deployments/helm'
const header = '# Made by `make generate`. Do not edit.\n'
const yaml = (value: unknown) => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })

export function chartFiles(): Map<string, string> {
  const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'))
  const about = {
    apiVersion: 'v2',
    name: 'multinic-agent',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.20.0-0',
    keywords: ['networking', 'openstack', 'multi-nic'],
  }
  const files = new Map([
    [`${chart}/Chart.yaml`, header + yaml(about)],
    [
      `${chart}/values.yaml`,
      `# Made by \`make generate\` from scripts/chart-values.ts.\n${valuesYaml(chartValues, 0)}`,
    ],
    [`${chart}/values.schema.json`, `${JSON.stringify(valuesSchema(), null, 2)}\n`],
    [`${chart}/files/rules.yaml`, header + yaml(rules())],
    ['docs/reference/helm-values.md', valuesPage()],
  ])
  for (const kind of kinds)
    files.set(`${chart}/files/crds/${kind.group}_${kind.plural}.yaml`, header + yaml(crdOf(kind)))
  return files
}

const isLeaf = (value: Leaf | Group): value is Leaf => 'is' in value

function valuesYaml({ of }: Group, depth: number): string {
  const indent = '  '.repeat(depth)
  return Object.entries(of)
    .map(([name, value]) => {
      const comment = `${depth === 0 ? '\n' : ''}${indent}# ${value.about}\n`
      if (!isLeaf(value)) return `${comment}${indent}${name}:\n${valuesYaml(value, depth + 1)}`
      const body = yaml({ [name]: value.is })
        .trimEnd()
        .split('\n')
      return `${comment}${body.map(line => `${indent}${line}`).join('\n')}\n`
    })
    .join('')
}

function valuesSchema(): object {
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(chartValues) }
}

function schemaOf(value: Leaf | Group): object {
  if (isLeaf(value)) return { description: value.about, ...value.schema }
  const properties = Object.fromEntries(Object.entries(value.of).map(([name, one]) => [name, schemaOf(one)]))
  return { description: value.about, type: 'object', additionalProperties: false, properties }
}

function valuesPage(): string {
  const rows = leavesOf(chartValues, '').map(
    ([name, { is, about }]) => `| \`${name}\` | \`${JSON.stringify(is)}\` | ${about} |`,
  )
  return `<!-- Made by \`make generate\` from scripts/chart-values.ts. Do not edit. -->
# Values of the Helm chart

A name that is not in this table is refused by \`helm\`, and so is one of the wrong kind. \`settings\` take the environment
variables of a part under their own names.

| value | default | meaning |
|---|---|---|
${rows.join('\n')}
`
}

function leavesOf({ of }: Group, before: string): [string, Leaf][] {
  return Object.entries(of).flatMap(([name, value]): [string, Leaf][] =>
    isLeaf(value) ? [[before + name, value]] : leavesOf(value, `${before}${name}.`),
  )
}

interface RbacObject {
  kind: string
  rules?: unknown[]
}

/** The rights of each part, as config/ has them and the tests prove them. */
export function rules(): Record<string, Record<string, unknown>> {
  const from = {
    controller: 'config/rbac/controller_role.yaml',
    operator: 'config/rbac/operator_role.yaml',
    viola: 'config/test/viola-test-api.yaml',
  }
  return Object.fromEntries(
    Object.entries(from).map(([part, path]) => {
      const objects = parseAllDocuments(readFileSync(path, 'utf8')).map(document => document.toJS() as RbacObject)
      const rulesOf = (kind: string) => objects.filter(one => one.kind === kind).flatMap(one => one.rules ?? [])
      return [part, { cluster: rulesOf('ClusterRole'), namespace: rulesOf('Role') }]
    }),
  )
}
