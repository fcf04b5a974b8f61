/**
 * The Dockerfiles, from the same recipes as the archives (image.ts), for Docker, nerdctl, podman and buildah.
 */
import { type ImageName, type Recipe, recipes } from './image.ts'
import { environmentOf } from './oci.ts'

/** The images of each Dockerfile; without `--target` it builds the last one. */
const dockerfiles = {
  Dockerfile: ['multinic-agent', 'multinic-controller', 'multinic-viola', 'multinic-inventory', 'multinic-operator'],
  'Dockerfile.controller': ['multinic-controller'],
  'Dockerfile.agent': ['multinic-agent'],
  'Dockerfile.viola-test-api': ['multinic-viola-test-api'],
} as const

export function dockerfileTexts(): Map<string, string> {
  return new Map(Object.entries(dockerfiles).map(([path, images]) => [path, dockerfile(path, images)]))
}

function dockerfile(path: string, images: readonly string[]): string {
  const used = [...new Set(images.map(recipeOf))]
  const last = images.at(-1) ?? ''
  const target = images.length > 1 ? ` [--target ${images.map(targetOf).join('|')}]` : ''
  return [
    '# Made by `make generate` from scripts/image.ts. Do not edit.',
    '#',
    `#   docker build${path === 'Dockerfile' ? '' : ` -f ${path}`} -t ${last}:latest${target} .`,
    '#',
    '# BUILD_IMAGE is any image of Debian 12 with Node 24 and npm. Without access to the npm registry, mount an installed',
    '# node_modules (buildah build --volume "$PWD/node_modules:/src/node_modules:ro" …), or use `make images`.',
    'ARG BUILD_IMAGE=node:24-bookworm-slim',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of the Dockerfile
    'FROM ${BUILD_IMAGE} AS build',
    'WORKDIR /src',
    ...systemTools(used),
    'COPY package.json package-lock.json ./',
    'RUN [ -e node_modules/.installed ] || npm ci --ignore-scripts --no-audit --no-fund',
    'COPY . .',
    ...used.map(name => `RUN node_modules/.bin/node scripts/image.ts ${name} --rootfs /out/${name}`),
    ...used.flatMap(name => stages(name, images)),
    '',
  ].join('\n')
}

function recipeOf(image: string): ImageName {
  const found = Object.keys(recipes).find(name => image in recipes[name as ImageName].starts)
  if (!found) throw new Error(`${image}: no recipe builds this image`)
  return found as ImageName
}

function systemTools(used: readonly ImageName[]): string[] {
  if (!used.includes('agent')) return []
  const install = 'apt-get update && apt-get install --yes --no-install-recommends iproute2 nftables'
  return [`RUN command -v ip && command -v nft || { ${install}; }`]
}

function stages(name: ImageName, images: readonly string[]): string[] {
  const { starts, entrypoint, environment, user, title }: Recipe = recipes[name]
  const ownImages = images.filter(image => starts[image])
  return [
    '',
    `FROM scratch AS ${name}`,
    `COPY --from=build /out/${name}/ /`,
    `ENV ${environmentOf(environment).join(' ')}`,
    `LABEL org.opencontainers.image.title=${JSON.stringify(title)} org.opencontainers.image.licenses="Apache-2.0"`,
    ...(user ? [`USER ${user}`] : []),
    `ENTRYPOINT ${JSON.stringify(entrypoint)}`,
    ...ownImages.flatMap(image => {
      const cmd = starts[image] ?? []
      return targetOf(image) === name ? [] : ['', `FROM ${name} AS ${targetOf(image)}`, `CMD ${JSON.stringify(cmd)}`]
    }),
  ]
}

function targetOf(image: string): string {
  return image.replace('multinic-', '')
}
