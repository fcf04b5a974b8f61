/**
 * A session with a cloud that is one server, and what a listener tells of a message bus.
 */

import type { Http } from '../../src/http-client/client.ts'
import { listenToBus } from '../../src/openstack/bus.ts'
import { createKeystone } from '../../src/openstack/keystone.ts'
import { createSession, type Session, type SessionOptions } from '../../src/openstack/session.ts'
import { silent } from '../../src/telemetry/log.ts'
import { projectId } from './captured-responses.ts'

export interface SessionPlace extends Pick<Partial<SessionOptions>, 'keystone' | 'mayVisit'> {
  url: string
  http: Http
  password?: string
  domain?: string
}

export function sessionAt({ url, http, password = 'hunter2', domain = 'Default', ...more }: SessionPlace): Session {
  return createSession({
    keystone: createKeystone({ http }),
    login: { url, user: 'admin', password, domain },
    projectId,
    services: { network: http, compute: http },
    endpoints: {},
    interface: 'public',
    region: '',
    ...more,
  })
}

export interface BusPlace {
  port: number
  password: string
  /** Speaks TLS, and trusts this authority. */
  ca?: string
}

/** The first trouble with what listens there. */
export async function busTrouble({ port, password, ca }: BusPlace): Promise<string> {
  const trouble = Promise.withResolvers<string>()
  const listener = listenToBus(
    {
      hosts: [{ hostname: '127.0.0.1', port, tls: ca !== undefined }],
      vhost: '/',
      user: 'guest',
      password,
      ...(ca !== undefined && { ca }),
      insecureTls: false,
      exchanges: ['nova'],
      topics: ['notifications'],
    },
    {
      onMessage: () => {},
      onState: ({ is, message }) => (is === 'away' || is === 'refused') && trouble.resolve(message),
      log: silent,
    },
  )
  try {
    return await trouble.promise
  } finally {
    await listener.close()
  }
}
