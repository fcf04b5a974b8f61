/**
 * Another listener of a cloud's notifications, as telemetry services are: it consumes the queue that the services declare and
 * all listeners share.
 */
import type { RabbitMq } from './rig.ts'

export interface Listener {
  close(): Promise<void>
}

export async function listenToSharedQueue(rabbit: RabbitMq, heard: () => void): Promise<Listener> {
  const connection = rabbit.connect()
  const consumer = connection.createConsumer(
    {
      queue: 'notifications.info',
      queueOptions: { durable: false },
      exchanges: ['neutron', 'nova'].map(exchange => ({ exchange, type: 'topic', durable: false })),
      queueBindings: ['neutron', 'nova'].map(exchange => ({ exchange, routingKey: 'notifications.info' })),
    },
    // What it returns would be taken for an answer to the broker.
    async () => void heard(),
  )
  consumer.on('error', () => {})
  await new Promise<void>(resolve => consumer.once('ready', resolve))
  return {
    async close() {
      await consumer.close()
      await connection.close()
    },
  }
}
