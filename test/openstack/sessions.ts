/**
 * A session with a cloud that is one stub server, and the first error of a message bus listener.
 */
import type { Http } from '../../src/http-client/client.ts'
import { listenToBus } from '../../src/openstack/bus.ts'
import type { EndpointOwners } from '../../src/openstack/cloud.ts'
import { createKeystone } from '../../src/openstack/keystone.ts'
import { createSession, type Session, type SessionOptions } from '../../src/openstack/session.ts'
import { silent } from '../../src/telemetry/log.ts'
import { projectId } from './captured-responses.ts'

/** Of an object that names no endpoint. */
export const ownEndpoints: EndpointOwners = {
  contrabass: 'operator',
  keystone: 'ownContrabass',
  neutron: 'ownContrabass',
  nova: 'ownContrabass',
}

export interface SessionAt extends Pick<Partial<SessionOptions>, 'keystone'> {
  url: string
  http: Http
  password?: string
  domain?: string
}

export function sessionAt({ url, http, password = 'hunter2', domain = 'Default', ...more }: SessionAt): Session {
  return createSession({
    keystone: createKeystone({ http }),
    login: {
      url,
      identity: { method: 'password', user: { name: 'admin', domain: { name: domain } }, password },
      project: { id: projectId },
    },
    services: { network: http, compute: http },
    endpoints: {},
    interface: 'public',
    region: '',
    ...more,
  })
}

export interface BusAt {
  port: number
  password: string
  /** Uses TLS with this certificate authority. */
  ca?: string
}

export async function firstBusError({ port, password, ca }: BusAt): Promise<string> {
  const error = Promise.withResolvers<string>()
  const listener = listenToBus(
    {
      hosts: [{ hostname: '127.0.0.1', port, tls: ca !== undefined }],
      vhost: '/',
      label: `127.0.0.1:${port}`,
      user: 'guest',
      password,
      ...(ca !== undefined && { ca }),
    },
    {
      onMessage: () => {},
      onState: ({ state, message }) => (state === 'unreachable' || state === 'refused') && error.resolve(message),
      log: silent,
    },
  )
  try {
    return await error.promise
  } finally {
    await listener.close()
  }
}
