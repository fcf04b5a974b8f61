/**
 * Response of Contrabass about a cloud. Unknown keys are ignored. Passwords are encrypted.
 */
import * as z from 'zod'

/** An OpenstackConfig may name any Contrabass, so every text is bounded. */
const maxLength = 4096
const text = z.string().max(maxLength).nullish()

export const contrabassAnswer = z.looseObject({
  returnCode: z.union([z.string(), z.number()]).nullish(),
  returnMessage: text,
  data: z
    .looseObject({
      url: z.string().min(1).max(2048),
      attributes: z.looseObject({
        adminId: z.string().min(1).max(maxLength),
        adminPw: z.string().min(1).max(maxLength),
        domain: text,
        rabbitMQUrls: z.array(z.string().max(maxLength)).max(64).nullish(),
        rabbitMQId: text,
        rabbitMQPw: text,
      }),
    })
    .nullish(),
})
