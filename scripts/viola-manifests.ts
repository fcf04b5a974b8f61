/**
 * The manifest of the Viola API for tests, from that of Viola (config/viola): the same objects with the name of the test image,
 * open to everyone.
 */
import { readFileSync } from 'node:fs'

const head = `# Viola API for tests, made by \`make generate\` from config/viola. Do not edit. It writes every posted node config to the cluster
# that it runs in. VIOLA_ANONYMOUS_ACCESS below opens it to everyone who can reach it, for the Go operator and for scripts that
# send no token. For production, use config/viola or the chart: docs/guides/viola.md.
#
#   kubectl create namespace multinic-system   (if it does not exist)
#   kubectl apply -f config/test/viola-test-api.yaml
`

const image = '          image: multinic-viola:latest\n'
const testImage = `          # Build it with: docker build -f Dockerfile.viola-test-api -t multinic-viola-test-api:latest . (or make images)
          image: multinic-viola-test-api:latest
`
const environment = '          env:\n'
const anonymous = `            - name: VIOLA_ANONYMOUS_ACCESS
              value: "true"
`

export function violaTestManifest(): string {
  const [role, viola] = ['role', 'viola'].map(name => readFileSync(`config/viola/${name}.yaml`, 'utf8'))
  for (const part of [image, environment])
    if (viola?.split(part).length !== 2) throw new Error(`config/viola/viola.yaml: expected once: ${part.trim()}`)
  return `${head}${role}---\n${viola?.replace(image, testImage).replace(environment, environment + anonymous)}`
}
