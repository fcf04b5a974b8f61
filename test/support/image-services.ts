/**
 * The images of services: their settings for a first start, and the port on which each answers.
 */
export const imageServices: Readonly<Record<string, { env: Record<string, string>; port: number }>> = {
  'multinic-operator': {
    env: { CONTRABASS_ENDPOINT: 'http://127.0.0.1:9', VIOLA_ENDPOINT: 'http://127.0.0.1:9' },
    port: 8081,
  },
  'multinic-controller': { env: { HEALTH_ADDR: ':8082' }, port: 8082 },
  'multinic-viola': { env: { LISTEN_ADDR: ':8083' }, port: 8083 },
  'multinic-viola-test-api': { env: { LISTEN_ADDR: ':8084' }, port: 8084 },
  'multinic-inventory': {
    env: { INVENTORY_ADDR: ':18082', INVENTORY_DB_PATH: '/data/inventory.db', INVENTORY_ANONYMOUS_ACCESS: 'true' },
    port: 18082,
  },
}
