/**
 * Another consumer of the notifications, like a telemetry service: it consumes the shared queue that the OpenStack services
 * declare.
 */
import type { RabbitMq } from './rig.ts'

export interface Listener {
  close(): Promise<void>
}

export async function listenToSharedQueue(rabbit: RabbitMq, onMessage: () => void): Promise<Listener> {
  const connection = rabbit.connect()
  const consumer = connection.createConsumer(
    {
      queue: 'notifications.info',
      queueOptions: { durable: false },
      exchanges: ['neutron', 'nova'].map(exchange => ({ exchange, type: 'topic', durable: false })),
      queueBindings: ['neutron', 'nova'].map(exchange => ({ exchange, routingKey: 'notifications.info' })),
    },
    // Return nothing: a return value would be the reply to the broker.
    async () => void onMessage(),
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
