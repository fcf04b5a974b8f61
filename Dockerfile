# Made by `make generate` from scripts/image.ts. Do not edit.
#
#   docker build -t multinic-operator:latest [--target agent|controller|viola|inventory|operator] .
#
# BUILD_IMAGE is any image of Debian 12 with Node 24 and npm. Without access to the npm registry, mount an installed
# node_modules (buildah build --volume "$PWD/node_modules:/src/node_modules:ro" …), or use `make images`.
ARG BUILD_IMAGE=node:24-bookworm-slim
FROM ${BUILD_IMAGE} AS build
WORKDIR /src
RUN command -v ip && command -v nft || { apt-get update && apt-get install --yes --no-install-recommends iproute2 nftables; }
COPY package.json package-lock.json ./
RUN [ -e node_modules/.installed ] || npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node_modules/.bin/node scripts/image.ts agent --rootfs /out/agent
RUN node_modules/.bin/node scripts/image.ts services --rootfs /out/services

FROM scratch AS agent
COPY --from=build /out/agent/ /
ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin
LABEL org.opencontainers.image.title="MultiNIC agent" org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["/usr/bin/node","/agent.cjs"]

FROM scratch AS services
COPY --from=build /out/services/ /
ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.mmap_threshold=16384
LABEL org.opencontainers.image.title="MultiNIC services: operator, Viola API, controller, inventory and CLI" org.opencontainers.image.licenses="Apache-2.0"
USER 65532:65532
ENTRYPOINT ["/usr/bin/node","--max-semi-space-size=4","/opt/multinic/multinic.mjs"]

FROM services AS controller
CMD ["controller"]

FROM services AS viola
CMD ["viola"]

FROM services AS inventory
CMD ["inventory"]

FROM services AS operator
CMD ["operator"]
