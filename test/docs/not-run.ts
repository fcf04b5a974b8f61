/**
 * Commands of the documents that no test of the documents can run, each with the reason and with what stands in for it. Their
 * files, targets and options are checked like those of all others.
 */
export interface Elsewhere {
  /** How the block begins. */
  begins: string
  because: string
}

export const elsewhere: readonly Elsewhere[] = [
  {
    begins: 'make images',
    because:
      'Packs every image anew, for minutes, and those of another processor from the network. test/system/images.e2e.test.ts types it, with make images-load on a node and make release, and runs what they made.',
  },
  {
    begins: 'docker build',
    because: 'Needs an engine. test/system/images.e2e.test.ts builds the Dockerfiles with buildah and compares.',
  },
  { begins: './images-load.sh', because: 'Runs on a node. test/system/images.e2e.test.ts runs it there.' },
  {
    begins: 'sha256sum --check',
    because:
      'Runs on a node, with a whole release. test/system/images.e2e.test.ts does so there with what make release made.',
  },
  {
    begins: 'tar -xzf multinic-cli',
    because: 'Puts files into your system. test/packaging/release.test.ts unpacks and runs them elsewhere.',
  },
  {
    begins: 'npm version',
    because:
      'Changes the tree and packs images for minutes. test/system/images.e2e.test.ts types make release; test/packaging/release.test.ts makes all but the images, twice.',
  },
  { begins: 'skopeo copy', because: 'Needs a registry of yours.' },
  {
    begins: 'multinic migrate',
    because:
      'Needs a cluster of the older world. test/system/migration.ts makes one and goes the whole way by these commands.',
  },
  {
    begins: 'rabbitmqctl',
    because: 'The broker is the one of the cloud. test/system/events.e2e.test.ts gives such rights on a real one.',
  },
  {
    begins: 'sudo ./bin/multinic sandbox up --rabbitmq',
    because: 'Needs a broker. test/system/events.e2e.test.ts runs the sandbox with a real one.',
  },
  {
    begins: 'make bench',
    because: 'Measures for minutes and changes the tree. scripts/figures-page.test.ts makes a page of figures.',
  },
  {
    begins: 'id=$(kubectl get mnnc',
    because:
      'Needs the logs of parts that have run as Pods for a while. Tests beside the parts hold the id on every wire.',
  },
  { begins: 'make bench', because: 'Measures for minutes, on a machine that has nothing else to do.' },
  {
    begins: './bin/multinic sandbox up --nodes 500',
    because: 'Takes a minute of both processors. Tests of the sandbox run simulated nodes, fewer of them.',
  },
  { begins: 'openstack port set', because: 'Needs the OpenStack client and a cloud of yours.' },
  {
    begins: 'source <(multinic completion',
    because: 'Belongs into files of three shells. src/cli/completion.test.ts lets each of them read its script.',
  },
]
