/**
 * Contrabass: where a cloud's Keystone is, and the account for it, by provider id.
 *
 * Two paths are in use. An endpoint may carry its own as a template with `{id}`; without one the newer path is tried, then
 * on 404 the older one, and which one answered is remembered.
 */
import { contrabassAnswer } from '../contract/contrabass.ts'
import { withoutSlash } from '../contract/url.ts'
import type { Http } from '../http-client/client.ts'
import { cut, isNotFound, ServiceError } from '../http-client/errors.ts'
import { explain } from '../runtime/errors.ts'
import { decryptPassword } from './cipher.ts'

const paths = ['/v1/contrabass/admin/infra/provider/{id}', '/api/providers/{id}']

/** What Contrabass knows of a cloud; the passwords are still encrypted. */
export interface Provider {
  url: string
  adminId: string
  adminPw: string
  domain: string
  rabbit?: { urls: string[]; user: string; password: string }
}

export interface CloudLogin {
  url: string
  user: string
  password: string
  domain: string
}

export interface Contrabass {
  provider(id: string, signal?: AbortSignal): Promise<Provider>
}

export function createContrabass({ http, endpoint }: { http: Http; endpoint: string }): Contrabass {
  const base = withoutSlash(endpoint)
  const candidates = base.includes('{id}') ? [base] : paths.map(path => `${base}${path}`)
  let answered: string | undefined

  async function ask(template: string, id: string, signal: AbortSignal | undefined): Promise<Provider> {
    const url = template.replaceAll('{id}', encodeURIComponent(id))
    const { body } = await http.request({ method: 'GET', url, signal })
    return providerIn(body, http.service)
  }

  return {
    async provider(id, signal) {
      for (const template of answered ? [answered] : candidates) {
        try {
          const provider = await ask(template, id, signal)
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
    const fields = parsed.error.issues.map(issue => issue.path.map(String).join('.') || 'the whole answer')
    throw malformed(`the answer is not usable: ${cut([...new Set(fields)].join(', '), 300)}`)
  }
  const { returnCode, returnMessage, data } = parsed.data
  if (returnCode !== undefined && returnCode !== null && !['', '200'].includes(String(returnCode)))
    throw malformed(`returnCode ${cut(String(returnCode), 40)}${returnMessage ? ` ${cut(returnMessage, 300)}` : ''}`)
  if (!data) throw malformed('the answer has no data')
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

/** The account with its password opened. */
export function loginOf(provider: Provider, key: string): CloudLogin {
  try {
    const password = decryptPassword(provider.adminPw, key)
    return { url: provider.url, user: provider.adminId, password, domain: provider.domain }
  } catch (error) {
    throw explain('adminPw of Contrabass', error)
  }
}
