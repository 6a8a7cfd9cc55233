export interface EventSettings {
  eventId: string;
  eventName?: string;
  webhookEnabled: boolean;
  addApprovalColumn?: boolean;
  signingSecret?: string;
}

/** Trims settings: spaces copied with an id or secret would match no delivery. An empty secret counts as none. */
export function trimmed({ eventId, eventName, signingSecret, ...rest }: EventSettings): EventSettings {
  const secret = signingSecret?.trim();
  return {
    ...rest,
    eventId: eventId.trim(),
    ...(eventName !== undefined && { eventName: eventName.trim() }),
    ...(secret && { signingSecret: secret }),
  };
}
