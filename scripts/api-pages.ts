/**
 * The reference pages of objects and calls, from the schemas of the CRDs and the OpenAPI documents.
 */
import { crdOf, kinds } from '../src/contract/crd.ts'
import { openApiDocument } from '../src/contract/openapi.ts'
import { inventoryApi } from '../src/inventory/api.ts'
import { violaApi } from '../src/viola/api.ts'
import { type Language, referencePages, table } from './reference.ts'

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

/** Text for one table cell. */
const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

interface ObjectTexts {
  title: string
  text: string
  columns: readonly string[]
  versions: (versions: string) => string
  names: (command: string, short: string) => string
  rules: string
  rulesText: string
  listOf: (type: string) => string
  atMost: (count: number) => string
  range: (from: string, to: string) => string
  byDefault: (value: string) => string
  any: string
}

const objectTexts: Record<Language, ObjectTexts> = {
  en: {
    title: 'Objects',
    text: 'All fields of the kinds that MultiNIC adds to Kubernetes; * marks a required field. [reasons.md](reasons.md) lists the reasons in conditions. The guides of the [operator](../guides/operator.md) and the [controller](../guides/controller.md) describe the annotations. `kubectl explain mnnc.spec` shows the same.',
    columns: ['field', 'type', 'meaning'],
    versions: versions => `versions ${versions} (the first one is stored).`,
    names: (command, short) => `${command}, short: ${short}.`,
    rules: 'validation rules',
    rulesText: 'Besides wrong types, the API server rejects an object that breaks one of these rules:',
    listOf: type => `list of ${type}`,
    atMost: count => `, at most ${count}`,
    range: (from, to) => `, ${from} to ${to}`,
    byDefault: value => `, default ${value}`,
    any: 'any',
  },
  ko: {
    title: '오브젝트',
    text: 'MultiNIC이 Kubernetes에 추가하는 종류의 모든 필드입니다. *는 필수 필드입니다. 조건의 사유는 [reasons.ko.md](reasons.ko.md)에 있습니다. 어노테이션은 [operator](../guides/operator.ko.md)와 [controller](../guides/controller.ko.md) 가이드를 보십시오. `kubectl explain mnnc.spec`으로도 같은 내용을 볼 수 있습니다. 필드 설명은 영어입니다.',
    columns: ['필드', '유형', '설명'],
    versions: versions => `버전 ${versions}(첫 번째 버전으로 저장).`,
    names: (command, short) => `${command}, 짧은 이름: ${short}.`,
    rules: '검증 규칙',
    rulesText: 'API 서버는 유형이 잘못된 오브젝트 외에도 다음 규칙을 어긴 오브젝트를 거부합니다.',
    listOf: type => `${type} 목록`,
    atMost: count => `, 최대 ${count}개`,
    range: (from, to) => `, ${from}~${to}`,
    byDefault: value => `, 기본값 ${value}`,
    any: '임의',
  },
}

export const objectPages = () =>
  referencePages('objects', 'src/contract', objectTexts, (language, texts) => {
    const sections = kinds.map(kind => {
      const { group, plural, shortNames, description, versions } = kind
      const schema = schemaOf(crdOf(kind))
      const { spec = {}, status = {} } = schema.properties ?? {}
      const about = `${description} \`${group}\`, ${texts.versions(versions.map(one => `\`${one}\``).join(', '))}`
      const names = texts.names(`\`kubectl get ${plural}\``, shortNames.map(name => `\`${name}\``).join(', '))
      const rules = rulesIn(schema).map(rule => `- ${rule}\n`)
      return [
        `## ${kind.kind}\n\n${about} ${names}\n`,
        `### ${kind.kind}: spec\n\n${fieldTable(spec, language)}`,
        `### ${kind.kind}: status\n\n${fieldTable(status, language)}`,
        ...(rules.length > 0 ? [`### ${kind.kind}: ${texts.rules}\n\n${texts.rulesText}\n\n${rules.join('')}`] : []),
      ].join('\n')
    })
    return sections.join('\n')
  })

function schemaOf(crd: object): Schema {
  const { spec } = crd as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } }
  return spec.versions[0]?.schema.openAPIV3Schema ?? {}
}

function fieldTable(schema: Schema, language: Language): string {
  const rows = fieldsOf(schema, '').map(([name, required, field]) => [
    `\`${name}\`${required ? ' *' : ''}`,
    cell(typeOf(field, language)),
    cell(field.description ?? ''),
  ])
  return table(objectTexts[language].columns, rows)
}

function fieldsOf(schema: Schema, before: string): [name: string, required: boolean, field: Schema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${before}${name}${field.type === 'array' ? '[]' : ''}`
    const inner = field.type === 'array' ? (field.items ?? {}) : field
    return [[path, schema.required?.includes(name) ?? false, field], ...fieldsOf(inner, `${path}.`)] as const
  }) as [string, boolean, Schema][]
}

function typeOf(field: Schema, language: Language): string {
  const { listOf, atMost, range, byDefault, any } = objectTexts[language]
  const { type = any, format = type, items = {}, maxItems, minimum, maximum } = field
  if (type === 'array') return `${listOf(typeOf(items, language))}${maxItems === undefined ? '' : atMost(maxItems)}`
  if (field.enum) return field.enum.map(value => `\`${value}\``).join(', ')
  const bounds = minimum === undefined && maximum === undefined ? '' : range(`${minimum ?? '…'}`, `${maximum ?? '…'}`)
  return `${format}${bounds}${field.default === undefined ? '' : byDefault(`\`${JSON.stringify(field.default)}\``)}`
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

interface CallTexts {
  title: string
  text: string
  bodies: (page: string) => string
  places: Record<string, string>
  required: string
}

const callTexts: Record<Language, CallTexts> = {
  en: {
    title: 'API calls',
    text: 'The HTTP calls of Viola and the inventory. Each component serves its OpenAPI document at `/openapi.yaml`, and as a page at `/docs` that needs no internet access. Errors are `application/problem+json` (RFC 9457).',
    bodies: page => `All fields of the bodies are in [${page}](${page}).`,
    places: { query: 'query', header: 'header', path: 'path' },
    required: 'required',
  },
  ko: {
    title: 'API 호출',
    text: 'Viola와 인벤토리의 HTTP 호출입니다. 각 구성 요소가 `/openapi.yaml`에서 OpenAPI 문서를, `/docs`에서 인터넷 없이 볼 수 있는 페이지를 제공합니다. 오류는 `application/problem+json`(RFC 9457) 형식입니다. 호출 설명은 영어입니다.',
    bodies: page => `본문의 모든 필드는 [${page}](${page})에 있습니다.`,
    places: { query: '쿼리', header: '헤더', path: '경로' },
    required: '필수',
  },
}

export const callPages = () =>
  referencePages('calls', 'src/viola/api.ts and src/inventory/api.ts', callTexts, (language, { bodies }) => {
    const sections = Object.entries({ viola: violaApi, inventory: inventoryApi }).map(([name, api]) => {
      const { info, paths } = openApiDocument(api) as {
        info: { title: string; description: string }
        paths: Record<string, Record<string, Operation>>
      }
      const calls = Object.entries(paths).flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, operation]) =>
          callText(`${method.toUpperCase()} ${path}`, operation, language),
        ),
      )
      const about = `${info.description} ${bodies(`${name}.openapi.yaml`)}`
      return `## ${info.title}\n\n${about}\n\n${calls.join('\n')}`
    })
    return sections.join('\n')
  })

function callText(title: string, operation: Operation, language: Language): string {
  const { summary = '', parameters = [], responses = {} } = operation
  const { places, required } = callTexts[language]
  const inputs = parameters.map(
    one =>
      `- \`${one.name}\` (${places[one.in] ?? one.in}${one.required ? `, ${required}` : ''}) ${one.description ?? ''}\n`,
  )
  const answers = Object.entries(responses).map(([status, { description = '' }]) => `- **${status}** ${description}\n`)
  return `### \`${title}\`\n\n${summary}\n\n${inputs.join('')}${answers.join('')}`
}
