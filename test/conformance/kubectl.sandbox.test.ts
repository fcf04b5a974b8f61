import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { startSimulated } from './kube/simulated.ts'
import { findKubectl, hasKubectl } from './kubectl/binaries.ts'
import { jobText, startSession } from './kubectl/session.ts'
import { kubectlConformance } from './kubectl.ts'

if (!hasKubectl()) {
  test('kubectl', t => {
    t.diagnostic('kubectl not found, nothing tested; as root: scripts/provision.sh kubernetes')
    t.skip('no kubectl')
  })
} else {
  const { name, path } = findKubectl()
  kubectlConformance(`${name} on the simulated Kubernetes API server`, path, startSimulated)

  describe(`${name} and Pod logs`, () => {
    test('logs shows the log of a Pod, with --tail and -f, and of a Job', async t => {
      const { api, kubeconfig, close } = await startSimulated()
      t.after(close)
      const { session, close: closeSession } = await startSession(path, kubeconfig)
      t.after(closeSession)
      const { k, file } = session
      let log = 'looking for fa:16:3e:00:00:01\nconfigured multinic0\n'
      api.setPodLogs(() => log)
      assert.match(await k('apply', '-f', await file('job.yaml', jobText('default'))), /created/)
      await eventually(async () => assert.match(await k('get', 'pods'), /j1-/))
      assert.match(await k('logs', 'job/j1'), /looking.*configured multinic0\n$/s)
      const pod = (await k('get', 'pods', '-o', 'name')).trim()
      assert.equal(await k('logs', pod, '--tail=1'), 'configured multinic0\n')
      const setPhase = (phase: string) =>
        session.kube.raw(
          'PATCH',
          `/api/v1/namespaces/default/${pod.replace('pod', 'pods')}/status`,
          { status: { phase } },
          {
            contentType: 'application/merge-patch+json',
          },
        )
      await setPhase('Running')
      assert.match(await k('exec', pod, '--', 'true'), /multinic sandbox shell/)
      assert.match(await k('port-forward', pod, '8080'), /multinic sandbox shell/)
      assert.match(await k('cluster-info'), /Kubernetes (control plane|master).* is running at .*https:/)
      const following = k('logs', '-f', pod)
      log += 'done\n'
      await setPhase('Succeeded')
      assert.match(await following, /done\n$/)
    })
  })
}
