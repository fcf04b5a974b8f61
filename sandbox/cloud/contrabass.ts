/**
 * Contrabass: returns the provider of the cloud on the newer and the older path, with encrypted passwords.
 */
import { createCipheriv, randomBytes } from 'node:crypto'
import type { Handler } from './messages.ts'
import type { CloudState } from './state.ts'

export const contrabassInternalError = { returnCode: '500', returnMessage: 'internal error', data: null }

export function createContrabass(cloudState: CloudState, keystone: () => string): Handler {
  return ({ method, path }) => {
    const id = /^(?:\/v1\/contrabass\/admin\/infra\/provider|\/api\/providers)\/([^/]+)$/.exec(path)?.[1]
    if (method !== 'GET' || id === undefined || decodeURIComponent(id) !== cloudState.provider.id)
      return { status: 404, body: { returnCode: '404', returnMessage: 'no such provider', data: null } }
    const { name, password, domain } = cloudState.user
    return {
      status: 200,
      body: {
        returnCode: '200',
        returnMessage: 'success',
        data: {
          id: cloudState.provider.id,
          name: 'sandbox',
          type: 'openstack',
          url: `${keystone()}/v3`,
          attributes: {
            adminId: name,
            adminPw: encrypted(password, cloudState.provider.encryptKey),
            domain,
            ...(cloudState.bus && {
              rabbitMQUrls: cloudState.bus.urls,
              rabbitMQId: cloudState.bus.user,
              rabbitMQPw: encrypted(cloudState.bus.password, cloudState.provider.encryptKey),
            }),
          },
        },
      },
    }
  }
}

/** Base64 of a 16-byte IV and the AES-128-CBC ciphertext, the format of Contrabass. */
export function encrypted(text: string, key: string): string {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-128-cbc', Buffer.from(key), iv)
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]).toString('base64')
}
