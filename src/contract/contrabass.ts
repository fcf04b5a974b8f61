/**
 * What Contrabass answers about a cloud. Unknown keys are ignored; the passwords are encrypted.
 */
import { z } from 'zod'

/** Longer than anything that is meant: whoever may name a Contrabass of his own decides what it says. */
const longest = 4096
const text = z.string().max(longest).nullish()

export const contrabassAnswer = z.looseObject({
  returnCode: z.union([z.string(), z.number()]).nullish(),
  returnMessage: text,
  data: z
    .looseObject({
      url: z.string().min(1).max(2048),
      attributes: z.looseObject({
        adminId: z.string().min(1).max(longest),
        adminPw: z.string().min(1).max(longest),
        domain: text,
        rabbitMQUrls: z.array(z.string().max(longest)).max(64).nullish(),
        rabbitMQId: text,
        rabbitMQPw: text,
      }),
    })
    .nullish(),
})

export type ContrabassAnswer = z.infer<typeof contrabassAnswer>
