/**
 * Contrabass: what it knows of the cloud under its provider id, under the newer and the older path, the password encrypted.
 */
import { createCipheriv, randomBytes } from 'node:crypto'
import type { Handler } from './http-server.ts'
import type { World } from './state.ts'

export const contrabassBroken = { returnCode: '500', returnMessage: 'internal error', data: null }

export function createContrabass(world: World, keystone: () => string): Handler {
  return ({ method, path }) => {
    const id = /^(?:\/v1\/contrabass\/admin\/infra\/provider|\/api\/providers)\/([^/]+)$/.exec(path)?.[1]
    if (method !== 'GET' || id === undefined || decodeURIComponent(id) !== world.provider.id)
      return { status: 404, body: { returnCode: '404', returnMessage: 'no such provider', data: null } }
    const { name, password, domain } = world.user
    return {
      status: 200,
      body: {
        returnCode: '200',
        returnMessage: 'success',
        data: {
          id: world.provider.id,
          name: 'sandbox',
          type: 'openstack',
          url: `${keystone()}/v3`,
          attributes: {
            adminId: name,
            adminPw: encrypted(password, world.provider.encryptKey),
            domain,
            ...(world.bus && {
              rabbitMQUrls: world.bus.urls,
              rabbitMQId: world.bus.user,
              rabbitMQPw: encrypted(world.bus.password, world.provider.encryptKey),
            }),
          },
        },
      },
    }
  }
}

/** Base64 of a 16-byte IV and the AES-128-CBC text, as Contrabass keeps its passwords. */
export function encrypted(text: string, key: string): string {
  const iv = randomBytes(16)
  const cipher = createCipheriv('aes-128-cbc', Buffer.from(key), iv)
  return Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final()]).toString('base64')
}
