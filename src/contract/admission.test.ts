import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admissionPolicies, admissionPolicyBindings, denyingBinding } from './admission.ts'

test('a binding has the name of its policy, and denies what the policy does not accept', () => {
  const metadata = { name: 'multinic-agent', labels: { 'app.kubernetes.io/part-of': 'multinic' } }
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {},
  }
  assert.deepEqual(denyingBinding(policy), {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: 'multinic-agent', validationActions: ['Deny'] },
  })
})

test('policies and bindings are at the location that Kubernetes 1.30 and newer has', () => {
  const location = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false }
  assert.deepEqual(
    [admissionPolicies, admissionPolicyBindings],
    [
      { ...location, kind: 'ValidatingAdmissionPolicy', plural: 'validatingadmissionpolicies' },
      { ...location, kind: 'ValidatingAdmissionPolicyBinding', plural: 'validatingadmissionpolicybindings' },
    ],
  )
})
