/**
 * The real oauth2-proxy with given configuration files, and a minimal identity provider (OpenID Connect) for it.
 */
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { request } from 'undici'
import { json } from '../../support/http-stub.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../process.ts'

export interface OAuth2Proxy {
  url: string
  close(): Promise<void>
}

/** Starts oauth2-proxy with both files of configuration, which must make it listen at `url`. */
export async function startOAuth2Proxy(options: {
  url: string
  config: string
  alphaConfig: string
  dir: string
  /** File with the CA of the upstream. */
  ca: string
}): Promise<OAuth2Proxy> {
  const { url, config, alphaConfig, dir, ca } = options
  const program = (await run(join(import.meta.dirname, 'build.sh'), [])).stdout.trim()
  const args = ['--config', config, '--alpha-config', alphaConfig]
  const daemon: Daemon = startDaemon(program, args, {
    log: join(dir, 'oauth2-proxy.log'),
    env: { SSL_CERT_FILE: ca },
  })
  await waitForAnswer('oauth2-proxy', daemon, async () => {
    const { statusCode, body } = await request(`${url}/ping`)
    await body.dump()
    if (statusCode !== 200) throw new Error(`status ${statusCode}`)
  })
  return { url, close: () => daemon.stop() }
}

export interface IdentityProvider {
  url: string
  /** Claims of the user that signs in next. */
  claims: Record<string, unknown>
  close(): Promise<void>
}

/** Signs in everyone who comes, as the user of `claims`. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const issued = new Map<string, object>()
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const provider = { url: '', claims: {} }

  function idToken(claims: object): string {
    const now = Math.floor(Date.now() / 1_000)
    const payload = { iss: provider.url, iat: now, exp: now + 3_600, ...claims }
    const signed = `${encoded({ alg: 'RS256', kid: 'key' })}.${encoded(payload)}`
    return `${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`
  }

  const server = createServer(async (received, response) => {
    const { pathname, searchParams: query } = new URL(received.url ?? '/', provider.url)
    if (pathname === '/.well-known/openid-configuration')
      return json(response, 200, {
        issuer: provider.url,
        authorization_endpoint: `${provider.url}/authorize`,
        token_endpoint: `${provider.url}/token`,
        jwks_uri: `${provider.url}/keys`,
        id_token_signing_alg_values_supported: ['RS256'],
      })
    if (pathname === '/keys')
      return json(response, 200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key', alg: 'RS256' }] })
    if (pathname === '/authorize') {
      const [code, location] = [randomUUID(), new URL(query.get('redirect_uri') ?? '')]
      issued.set(code, { ...provider.claims, aud: query.get('client_id'), nonce: query.get('nonce') })
      location.search = new URLSearchParams({ code, state: query.get('state') ?? '' }).toString()
      return void response.writeHead(302, { location: location.href }).end()
    }
    const code = new URLSearchParams(await text(received)).get('code') ?? ''
    const claims = issued.get(code)
    if (!claims) return json(response, 400, { error: 'invalid_grant' })
    const access = { access_token: randomUUID(), token_type: 'Bearer', expires_in: 3_600 }
    return json(response, 200, { ...access, id_token: idToken(claims) })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
  return Object.assign(provider, { close })
}
