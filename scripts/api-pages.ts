/**
 * The reference pages of our objects and calls, made of the same schemas as the CRDs and the OpenAPI documents.
 */
import { crdOf, kinds } from '../src/contract/crd.ts'
import { openApiDocument } from '../src/contract/openapi.ts'
import { inventoryApi } from '../src/inventory/api.ts'
import { violaApi } from '../src/viola/api.ts'

interface Schema {
  type?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  minimum?: number
  maximum?: number
  maxItems?: number
  pattern?: string
  format?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  required?: string[]
  'x-kubernetes-validations'?: { rule: string; message?: string }[]
}

const made = (from: string) => `<!-- Made by \`make generate\` from ${from}. Do not edit. -->\n`
/** One line of a table. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** Every field of every object of ours. */
export function objectsPage(): string {
  const parts = kinds.map(kind => {
    const { group, plural, shortNames, description, versions } = kind
    const schema = schemaOf(crdOf(kind))
    const { spec = {}, status = {} } = schema.properties ?? {}
    const said = `${description} \`${group}\`, versions ${versions.map(one => `\`${one}\``).join(', ')} (the first is stored).`
    const names = `\`kubectl get ${plural}\`, or ${shortNames.map(name => `\`${name}\``).join(', ')}.`
    const rules = rulesIn(schema).map(rule => `- ${rule}\n`)
    const held =
      rules.length > 0
        ? `\n### ${kind.kind}: rules\n\nWhat the API server refuses, beside wrong types:\n\n${rules.join('')}`
        : ''
    return `## ${kind.kind}\n\n${said} ${names}\n\n### ${kind.kind}: spec\n\n${table(spec)}\n### ${kind.kind}: status\n\n${table(status)}${held}`
  })
  return `${made('src/contract')}# Objects

The kinds that MultiNIC adds to Kubernetes, field by field. Reasons in conditions are in [reasons.md](reasons.md), annotations in the
guides of the [operator](../guides/operator.md) and the [controller](../guides/controller.md). \`kubectl explain mnnc.spec\` tells the
same.

${parts.join('\n')}`
}

function schemaOf(crd: object): Schema {
  const { spec } = crd as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }
  return spec.versions[0]?.schema.openAPIV3Schema ?? {}
}

function table(schema: Schema): string {
  const rows = fieldsOf(schema, '').map(
    ([name, required, field]) =>
      `| \`${name}\`${required ? ' *' : ''} | ${cell(typeOf(field))} | ${cell(field.description ?? '')} |`,
  )
  return `| field | type | meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}

function fieldsOf(schema: Schema, before: string): [name: string, required: boolean, field: Schema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${before}${name}${field.type === 'array' ? '[]' : ''}`
    const inner = field.type === 'array' ? (field.items ?? {}) : field
    return [[path, schema.required?.includes(name) ?? false, field], ...fieldsOf(inner, `${path}.`)] as const
  }) as [string, boolean, Schema][]
}

function typeOf(field: Schema): string {
  if (field.type === 'array') {
    const most = field.maxItems === undefined ? '' : `, at most ${field.maxItems}`
    return `list of ${typeOf(field.items ?? {})}${most}`
  }
  if (field.enum) return field.enum.map(value => `\`${value}\``).join(', ')
  const range =
    field.minimum === undefined && field.maximum === undefined
      ? ''
      : `, ${field.minimum ?? '…'} to ${field.maximum ?? '…'}`
  const standard = field.default === undefined ? '' : `, \`${JSON.stringify(field.default)}\` when absent`
  return `${field.format ?? field.type ?? 'any'}${range}${standard}`
}

function rulesIn(schema: Schema): string[] {
  const here = (schema['x-kubernetes-validations'] ?? []).map(({ rule, message }) => message ?? `\`${rule}\``)
  const below = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])].flatMap(rulesIn)
  return [...new Set([...here, ...below])]
}

interface Operation {
  summary?: string
  parameters?: { name: string; in: string; required?: boolean; description?: string }[]
  responses?: Record<string, { description?: string }>
}

/** Every call of the parts that answer to others. */
export function callsPage(): string {
  const apis = { viola: violaApi, inventory: inventoryApi }
  const parts = Object.entries(apis).map(([name, api]) => {
    const { info, paths } = openApiDocument(api) as {
      info: { title: string; description: string }
      paths: Record<string, Record<string, Operation>>
    }
    const calls = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => callText(`${method.toUpperCase()} ${path}`, operation)),
    )
    return `## ${info.title}\n\n${info.description} The bodies, field by field, are in [${name}.openapi.yaml](${name}.openapi.yaml).\n\n${calls.join('\n')}`
  })
  return `${made('src/viola/api.ts and src/inventory/api.ts')}# Calls

What Viola and the inventory answer to. Each serves its document at \`/openapi.yaml\` and as a page at \`/docs\`, without the internet;
errors are \`application/problem+json\` (RFC 9457).

${parts.join('\n')}`
}

function callText(title: string, { summary = '', parameters = [], responses = {} }: Operation): string {
  const taken = parameters.map(
    ({ name, in: where, required, description = '' }) =>
      `- \`${name}\` (${where}${required ? ', required' : ''}) ${description}\n`,
  )
  const answers = Object.entries(responses).map(([status, { description = '' }]) => `- **${status}** ${description}\n`)
  return `### \`${title}\`\n\n${summary}\n\n${taken.join('')}${answers.join('')}`
}
