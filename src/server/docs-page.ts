/**
 * The documentation of an API as one HTML page, from its OpenAPI document. No script and no external resource.
 */
import { createHash } from 'node:crypto'

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema?: { type?: string; enum?: string[]; format?: string }
}

interface Operation {
  summary?: string
  parameters?: Parameter[]
  responses?: Record<string, { description?: string }>
}

const style = `:root{color-scheme:light dark;--line:light-dark(#e5e7ec,#23272f);--dim:light-dark(#5f6775,#8b94a3);--accent:light-dark(#2b55e0,#8aa5ff);--soft:light-dark(#f3f4f7,#191c22)}
body{font:14px/1.5 Inter,system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;background:light-dark(#fff,#121418);color:light-dark(#14171d,#eceef3)}
a{color:var(--accent)}code{font:12px/1.5 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}h1{font-size:20px}h2{font-size:14px;margin:0}
nav ul{list-style:none;padding:0;display:grid;gap:2px}nav a{text-decoration:none}section{border:1px solid var(--line);border-radius:10px;padding:1rem;margin:1rem 0}
.method{display:inline-block;min-width:3rem;font-weight:600;color:var(--accent)}.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;margin-top:.5rem}th{text-align:left;font-weight:500;color:var(--dim)}td,th{padding:.25rem .75rem .25rem 0;border-top:1px solid var(--line);vertical-align:top}
pre{background:var(--soft);border-radius:6px;padding:.5rem .75rem;overflow-x:auto;margin:.5rem 0 0}`

/** The page has this style and nothing else that a browser would load or run. */
export const docsPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function docsPage(openapi: Record<string, unknown>): string {
  const info = openapi['info'] as { title: string; description: string; version: string }
  const paths = openapi['paths'] as Record<string, Record<string, Operation>>
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const contents = operations.map(
    ({ method, path, operation }) =>
      `<li><a href="#${idOf(method, path)}"><code><span class="method">${method}</span>${escapeHtml(path)}</code></a> ${escapeHtml(operation.summary ?? '')}</li>`,
  )
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)}</title>
<style>${style}</style></head><body><main>
<h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}</h1><p>${escapeHtml(info.description)}</p><p><a href="/openapi.yaml">openapi.yaml</a> <a href="/openapi.json">openapi.json</a></p><nav aria-label="Operations"><ul>${contents.join('')}</ul></nav>${operations.map(section).join('')}</main></body></html>`
}

function section({ method, path, operation }: { method: string; path: string; operation: Operation }): string {
  const { summary = '', parameters = [], responses = {} } = operation
  const rows = parameters.map(
    one =>
      `<tr><td><code>${escapeHtml(one.name)}</code></td><td>${escapeHtml(one.in)}${one.required ? ', required' : ''}</td><td>${escapeHtml(typeOf(one))}</td><td>${escapeHtml(one.description ?? '')}</td></tr>`,
  )
  const answers = Object.entries(responses).map(
    ([status, { description = '' }]) => `<tr><td><code>${status}</code></td><td>${escapeHtml(description)}</td></tr>`,
  )
  return `<section id="${idOf(method, path)}"><h2><code><span class="method">${method}</span>${escapeHtml(path)}</code></h2><p>${escapeHtml(summary)}</p>${
    rows.length > 0 ? table(['Parameter', 'In', 'Type', 'Meaning'], rows) : ''
  }${table(['Status', 'Response'], answers)}${method === 'GET' ? `<pre><code>curl -H "Authorization: Bearer $TOKEN" "$URL${escapeHtml(path)}"</code></pre>` : ''}</section>`
}

function table(head: readonly string[], rows: readonly string[]): string {
  return `<div class="scroll"><table><thead><tr>${head.map(text => `<th>${text}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

function typeOf({ schema }: Parameter): string {
  return schema?.enum?.join(' | ') ?? schema?.format ?? schema?.type ?? 'string'
}

const idOf = (method: string, path: string) => `${method}${path}`.replace(/[^A-Za-z0-9]+/g, '-')

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
