/**
 * What Contrabass answers about a cloud. Unknown keys are ignored; the passwords are encrypted.
 */
import { z } from 'zod'

const text = z.string().nullish()

export const contrabassAnswer = z.looseObject({
  returnCode: z.union([z.string(), z.number()]).nullish(),
  returnMessage: text,
  data: z
    .looseObject({
      url: z.string().min(1),
      attributes: z.looseObject({
        adminId: z.string().min(1),
        adminPw: z.string().min(1),
        domain: text,
        rabbitMQUrls: z.array(z.string()).nullish(),
        rabbitMQId: text,
        rabbitMQPw: text,
      }),
    })
    .nullish(),
})

export type ContrabassAnswer = z.infer<typeof contrabassAnswer>
