/** The kinds of accounts of a clouds.yaml: users and projects by name and id, tokens, application credentials. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Identity, type Project, tokenRequest } from '../../../src/openstack/login.ts'
import { type ApiResponse, send } from '../../rigs/openstack/api.ts'
import { eventually } from '../../support/eventually.ts'
import { type CloudContext, logIn } from './context.ts'
import { assertUnauthorized } from './tokens.ts'

const method = 'application_credential'

export function accountCases(context: () => CloudContext): void {
  const logInWith = (identity: Identity, project?: Project): Promise<ApiResponse> => {
    const { keystone: url } = context().cloud.urls
    const body = tokenRequest({ url, identity, ...(project && { project }) })
    return send(`${url}/v3/auth/tokens`, { method: 'POST', body })
  }
  const assertOwnProject = ({ status, body }: ApiResponse) =>
    assert.deepEqual([status, body.token?.project.id], [201, context().cloud.projectId])

  test('a user by id, and a project by name', async () => {
    const { cloud } = context()
    const { user, project } = (await logIn(cloud)).body.token
    const identity = { method: 'password', user: { id: user.id }, password: cloud.login.password } as const
    assertOwnProject(await logInWith(identity, { name: project.name, domain: { id: 'default' } }))
  })

  test('a token is exchanged for another one', async () => {
    const { cloud } = context()
    const token = tokenIn(await logIn(cloud))
    const again = await logInWith({ method: 'token', token }, { id: cloud.projectId })
    assertOwnProject(again)
    assert.notEqual(tokenIn(again), token)
    const path = `${cloud.urls.keystone}/v3/auth/tokens`
    const headers = { 'x-subject-token': token }
    assert.equal((await send(path, { method: 'DELETE', token, headers })).status, 204)
    const { status, body } = await logInWith({ method: 'token', token }, { id: cloud.projectId })
    assert.deepEqual([status, body.error.message], [404, 'Failed to validate token'])
  })

  test('an application credential logs in by id and by name into its own project, and asks for no scope', async () => {
    const { cloud } = context()
    const { id, secret, user } = await createCredential(context(), 'lasting')
    assertOwnProject(await logInWith({ method, credential: { id }, secret }))
    assertOwnProject(await logInWith({ method, credential: { name: 'lasting', user }, secret }))
    const uri = `${cloud.urls.keystone}/v3`
    assertUnauthorized(await logInWith({ method, credential: { id }, secret: 'wrong' }), uri)
    assert.equal((await logInWith({ method, credential: { id }, secret }, { id: cloud.projectId })).status, 401)
  })

  test('an application credential that expired is a 401, and a deleted one is not found', async () => {
    const { cloud } = context()
    const soon = new Date(Date.now() + 2_000).toISOString().slice(0, -1)
    const short = await createCredential(context(), 'short', { expires_at: soon })
    const { id, secret, path } = await createCredential(context(), 'removed')
    const token = tokenIn(await logIn(cloud))
    assert.equal((await send(`${path}/${id}`, { method: 'DELETE', token })).status, 204)
    await eventually(async () => {
      const { status, body } = await logInWith({ method, credential: { id }, secret })
      const message = `Could not find Application Credential: ${id}.`
      assert.deepEqual([status, body.error], [404, { code: 404, message, title: 'Not Found' }])
    })
    const identity = { method, credential: { id: short.id }, secret: short.secret } as const
    await eventually(async () => assert.equal((await logInWith(identity)).status, 401))
  })
}

function tokenIn({ headers }: ApiResponse): string {
  return String(headers['x-subject-token'])
}

async function createCredential({ cloud }: CloudContext, name: string, more: object = {}) {
  const login = await logIn(cloud)
  const user = { id: String(login.body.token.user.id) }
  const path = `${cloud.urls.keystone}/v3/users/${user.id}/application_credentials`
  const body = { application_credential: { name, ...more } }
  const answer = await send(path, { method: 'POST', token: tokenIn(login), body })
  assert.equal(answer.status, 201, answer.text)
  const { id, secret } = answer.body.application_credential as { id: string; secret: string }
  return { id, secret, user, path }
}
