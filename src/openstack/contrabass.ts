/**
 * Contrabass: address and account of a cloud's Keystone, by provider id.
 *
 * Two paths are in use. An endpoint may contain its own path as a template with `{id}`. Without one the client calls the
 * newer path, on 404 the older one, and remembers which one answered.
 */
import { contrabassAnswer } from '../contract/contrabass.ts'
import { truncate } from '../contract/truncate.ts'
import { withoutSlash } from '../contract/url.ts'
import type { Http } from '../http-client/client.ts'
import { isNotFound, ServiceError } from '../http-client/errors.ts'
import { explain } from '../runtime/errors.ts'
import { decryptPassword } from './cipher.ts'
import type { CloudLogin } from './login.ts'

const paths = ['/v1/contrabass/admin/infra/provider/{id}', '/api/providers/{id}']

/** The data of Contrabass on a cloud. The passwords are still encrypted. */
export interface Provider {
  url: string
  adminId: string
  adminPw: string
  domain: string
  rabbit?: { urls: string[]; user: string; password: string }
}

export interface Contrabass {
  provider(id: string, signal?: AbortSignal): Promise<Provider>
}

export function createContrabass({ http, endpoint }: { http: Http; endpoint: string }): Contrabass {
  const base = withoutSlash(endpoint)
  const candidates = base.includes('{id}') ? [base] : paths.map(path => `${base}${path}`)
  let answered: string | undefined

  async function fetch(template: string, id: string, signal: AbortSignal | undefined): Promise<Provider> {
    const url = template.replaceAll('{id}', encodeURIComponent(id))
    const { body } = await http.request({ method: 'GET', url, signal })
    return providerIn(body, http.service)
  }

  return {
    async provider(id, signal) {
      for (const template of answered ? [answered] : candidates) {
        try {
          const provider = await fetch(template, id, signal)
          answered = template
          return provider
        } catch (error) {
          if (!isNotFound(error) || template === (answered ?? candidates.at(-1))) throw error
        }
      }
      throw new Error('unreachable: the last candidate either answered or threw')
    },
  }
}

function providerIn(body: unknown, service: string): Provider {
  const malformed = (message: string) => new ServiceError(`${service}: ${message}`, { service, kind: 'malformed' })
  const parsed = contrabassAnswer.safeParse(body)
  if (!parsed.success) {
    const fields = parsed.error.issues.map(issue => issue.path.map(String).join('.') || '(root)')
    throw malformed(`the answer has invalid fields: ${truncate([...new Set(fields)].join(', '), 300)}`)
  }
  const { returnCode, returnMessage, data } = parsed.data
  if (returnCode !== undefined && returnCode !== null && !['', '200'].includes(String(returnCode)))
    throw malformed(
      `returnCode ${truncate(String(returnCode), 40)}${returnMessage ? ` ${truncate(returnMessage, 300)}` : ''}`,
    )
  if (!data) throw malformed('data is missing in the answer')
  const { adminId, adminPw, domain, rabbitMQUrls, rabbitMQId, rabbitMQPw } = data.attributes
  const urls = (rabbitMQUrls ?? []).filter(url => url.trim() !== '')
  return {
    url: data.url,
    adminId,
    adminPw,
    domain: domain || 'Default',
    ...(urls.length > 0 && { rabbit: { urls, user: rabbitMQId ?? '', password: rabbitMQPw ?? '' } }),
  }
}

/** The account with its decrypted password. */
export function loginOf({ url, adminId: name, adminPw, domain }: Provider, key: string, projectId: string): CloudLogin {
  try {
    const password = decryptPassword(adminPw, key)
    const identity = { method: 'password', user: { name, domain: { name: domain } }, password } as const
    return { url, identity, project: { id: projectId } }
  } catch (error) {
    throw explain('adminPw of Contrabass', error)
  }
}
