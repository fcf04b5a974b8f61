/**
 * Command blocks that no test of the documents can run, each with the reason and the test that covers it. Their files,
 * targets and options are checked like those of all other blocks.
 */
export interface UntestedBlock {
  /** First words of the block. */
  begins: string
  reason: string
}

export const untestedBlocks: readonly UntestedBlock[] = [
  {
    begins: 'make images',
    reason:
      'Takes minutes, and downloads packages for another architecture. Covered by test/system/images.e2e.test.ts.',
  },
  {
    begins: 'docker build',
    reason: 'Needs a container engine. test/system/images.e2e.test.ts builds the Dockerfiles with buildah.',
  },
  { begins: './images-load.sh', reason: 'Runs on a node. Covered by test/system/images.e2e.test.ts.' },
  {
    begins: 'sha256sum --check',
    reason: 'Runs on a node with a complete release. Covered by test/system/images.e2e.test.ts.',
  },
  {
    begins: 'tar -xzf multinic-cli',
    reason: 'Installs files into the system. test/packaging/release.test.ts runs them from another directory.',
  },
  {
    begins: 'npm version',
    reason:
      'Changes the working tree and takes minutes. Covered by test/system/images.e2e.test.ts and test/packaging/release.test.ts.',
  },
  { begins: 'skopeo copy', reason: 'Needs a registry of the reader.' },
  {
    begins: 'multinic status                           #',
    reason:
      'Needs a kubeconfig with two contexts. Covered by src/cli/cluster-inventory.test.ts and src/cli/watch.test.ts.',
  },
  {
    begins: 'multinic renumber',
    reason:
      'Needs nodes whose interfaces have other numbers than their subnets. Covered by test/system/renumber.root.test.ts and src/cli/renumber.test.ts.',
  },
  {
    begins: 'multinic migrate',
    reason: 'Needs a cluster with legacy objects. test/system/migration.ts runs these commands in one.',
  },
  {
    begins: 'openstack application credential',
    reason: 'Needs a cloud. test/system/cloud-secret.e2e.test.ts creates such a credential in a real Keystone.',
  },
  {
    begins: 'kubectl -n multinic-system create secret generic my-cloud',
    reason: 'Needs the files of a cloud. test/system/cloud-secret.e2e.test.ts writes and rotates such a Secret.',
  },
  {
    begins: 'rabbitmqctl',
    reason: 'Needs the broker of a cloud. test/system/events.e2e.test.ts grants the same rights on a real broker.',
  },
  {
    begins: 'sudo ./bin/multinic sandbox up --rabbitmq',
    reason: 'Needs a broker. test/system/events.e2e.test.ts runs the sandbox with a real one.',
  },
  {
    begins: 'make bench',
    reason:
      'Takes minutes on an idle machine and changes the working tree. scripts/figures-page.test.ts renders a page.',
  },
  {
    begins: 'id=$(kubectl get mnnc',
    reason: 'Needs logs of components that run as Pods. Tests of each component check the trace ID on every call.',
  },
  {
    begins: './bin/multinic sandbox up --nodes 500',
    reason: 'Takes a minute of CPU time. Tests of the sandbox run fewer simulated nodes.',
  },
  {
    begins: 'sudo make up NODES=vm',
    reason: 'Boots a virtual machine. test/vm/chain.vm.test.ts runs the same sandbox with `make vm`.',
  },
  {
    begins: 'helm upgrade multinic-agent deployments/helm -n multinic-system --reuse-values',
    reason: 'Needs an installation. test/packaging/chart.e2e.test.ts renders and installs the option.',
  },
  {
    begins: 'kubelet --register-with-taints',
    reason: 'Configures a node. test/system/pods.e2e.test.ts registers a real one with the taint.',
  },
  { begins: 'openstack port set', reason: 'Needs the OpenStack client and a cloud of the reader.' },
  {
    begins: 'source <(multinic completion',
    reason: 'Belongs into files of three shells. src/cli/completion.test.ts loads the script in each of them.',
  },
]
