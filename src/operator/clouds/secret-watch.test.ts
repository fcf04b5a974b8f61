/** The message for a Secret that the operator may not read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubeError } from '../../kube/errors.ts'
import { silent } from '../../telemetry/log.ts'
import { SyncError } from '../sync-error.ts'
import { createSecretWatch } from './secret-watch.ts'

async function refusalOf(namespace: string): Promise<string> {
  const refuse = () => Promise.reject(new KubeError(403, 'Forbidden', 'secrets is forbidden'))
  const watch = createSecretWatch({
    kube: { list: refuse, watch: () => assert.fail('nothing was listed') },
    ownNamespace: 'multinic-operator-system',
    log: silent,
    wake: () => {},
  })
  try {
    await watch.read('team-a/main', namespace, 'my-cloud')
    return 'none'
  } catch (error) {
    assert.ok(error instanceof SyncError)
    return `${error.reason}: ${error.message}`
  } finally {
    watch.close()
  }
}

test('a missing right to a Secret is an error with the namespace and the command that adds it', async () => {
  assert.equal(
    await refusalOf('team-a'),
    'ConfigError: the operator has no right to read the Secret my-cloud in namespace team-a: add a rule for the namespace to operator.namespaceRules of the Helm chart; without the chart, run kubectl -n team-a create rolebinding multinic-operator-secrets --clusterrole=multinic-operator-secrets --serviceaccount=multinic-operator-system:multinic-operator',
  )
})

test('in its own namespace the operator may read Secrets by name only, and says where to add one', async () => {
  assert.equal(
    await refusalOf('multinic-operator-system'),
    'ConfigError: the operator has no right to read the Secret my-cloud in namespace multinic-operator-system: add its name to operator.secretNames of the Helm chart',
  )
})
