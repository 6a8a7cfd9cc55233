export interface EventSettings {
  eventId: string;
  eventName?: string;
  webhookEnabled: boolean;
  addApprovalColumn?: boolean;
  signingSecret?: string;
}

/** As they are kept: spaces that came along with a copied id or secret would match no delivery. An empty secret is none. */
export function trimmed({ eventId, eventName, signingSecret, ...rest }: EventSettings): EventSettings {
  const secret = signingSecret?.trim();
  return {
    ...rest,
    eventId: eventId.trim(),
    ...(eventName !== undefined && { eventName: eventName.trim() }),
    ...(secret && { signingSecret: secret }),
  };
}
